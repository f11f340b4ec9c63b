"""What plays in the arena.

A player may remember things between calls, so each thread of a match has players of its own.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from types import TracebackType
from typing import Self

from zerofleet.games import Position
from zerofleet.search import Analysis


class Player(ABC):
    """Chooses actions. Where something is hidden it uses only what the player to move knows."""

    name: str
    """The text that made it."""

    @abstractmethod
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        """An action for each position, in which a player is to move; all at once, so that a
        network gets large batches. The same seeds give the same actions."""

    def choose(self, position: Position, seed: int = 1) -> int:
        """The action to play in one position."""
        return self.choose_many([position], [seed])[0]

    def analyse(self, position: Position, seed: int = 1) -> Analysis | None:
        """What it thinks of a position; None where it does not search."""
        return None

    def close(self) -> None:
        """Ends what it has started; most players have started nothing."""
        return

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()
