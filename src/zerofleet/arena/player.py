"""The interface of players.

A player may keep state between calls, so each thread of a match has its own players.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Self

from zerofleet.games import Position
from zerofleet.search import Analysis


class Player(ABC):
    """Chooses actions, from the information set of the player to move."""

    name: str
    """The text that names it."""

    on_step: Callable[[], None] = staticmethod(lambda: None)
    """Called at each step of a long search; an exception ends the search."""

    @abstractmethod
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        """An action for each position, where a player is to move. One call for all, so that a
        network gets large batches. The same seeds give the same actions."""

    def choose(self, position: Position, seed: int = 1) -> int:
        """The action to play in one position."""
        return self.choose_many([position], [seed])[0]

    def analyse(self, position: Position, seed: int = 1) -> Analysis | None:
        """Analyses a position; None if the player does not search."""
        return None

    def close(self) -> None:
        """Releases resources such as processes; most players have none."""
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
