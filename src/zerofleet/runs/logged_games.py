"""Reads the games in a run's episode log. The run may still be training.

The log keeps the newest games: old files are removed as new ones are written. Files are read one
by one, so a log may exceed memory.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from zerofleet.errors import Unsupported
from zerofleet.games import Episode, Game, GameRecord, Position
from zerofleet.replay.segment import (
    Damaged,
    Torn,
    read_header,
    read_records,
    skip_damaged_header,
)

TRUNCATED = "truncated"
"""The result of a game that reached max_plies."""


@dataclass(frozen=True)
class Decision:
    """A player's action, and the result of the search that chose it."""

    position: Position
    action: int
    kind: str
    """The kind of search; see zerofleet.games.Event."""
    version: int
    """Training step of the weights."""
    num_simulations: int
    policy: dict[int, float]
    """Policy target by action; empty without a full search."""
    value_to_move: float | None
    """Expected reward at the root; None without a search."""


@dataclass(frozen=True)
class LoggedGame:
    """One game of a run."""

    number: int
    """Position in the log: the number of games before it."""
    episode: Episode
    game: Game
    run: str

    @property
    def id(self) -> str:
        """Unique id: worker and sequence number."""
        return f"{self.worker:x}-{self.episode.sequence}"

    @property
    def worker(self) -> int:
        return self.episode.worker

    @property
    def version(self) -> int:
        """Training step of the newest weights that played in it."""
        return max((event.version for event in self.episode.events), default=0)

    @property
    def result(self) -> str:
        """The first player's outcome by name, or `truncated`."""
        outcome = self.episode.outcome_first_player
        return self.game.outcomes[outcome].name if outcome >= 0 else TRUNCATED

    @property
    def num_plies(self) -> int:
        """Number of actions and chance outcomes."""
        return len(self.episode.events)

    def positions(self) -> list[Position]:
        """The position before each ply, then the final one."""
        return self.episode.positions(self.game)

    def decisions(self) -> Iterator[Decision]:
        """The players' decisions, without chance."""
        rewards = [outcome.reward for outcome in self.game.outcomes]
        for position, event in zip(self.positions(), self.episode.events, strict=False):
            if event.kind == "chance":
                continue
            outcomes = event.outcomes_to_move if event.num_simulations else []
            value = sum(p * reward for p, reward in zip(outcomes, rewards, strict=False))
            yield Decision(
                position,
                event.id,
                event.kind,
                event.version,
                event.num_simulations,
                dict(event.policy),
                value if outcomes else None,
            )

    def record(self) -> GameRecord:
        """For zf.games.write_games."""
        player = f"run:{self.run}@{self.version}"
        return GameRecord.from_episode(self.episode, self.game, (player, player))


class LoggedGames:
    """The games in a log, oldest first; reversed() gives the newest first."""

    def __init__(self, folder: Path, game: Game, run: str) -> None:
        self.game = game
        self.run = run
        self.faults: dict[Path, str] = {}
        """Damage in the files read so far; damaged games are skipped."""
        self._folder = folder

    def __iter__(self) -> Iterator[LoggedGame]:
        return self._decoded(self._all())

    def __reversed__(self) -> Iterator[LoggedGame]:
        for path in reversed(self._paths()):
            yield from self._decoded(reversed(list(self._games_in(path))))

    def find(self, text: str) -> LoggedGame:
        """The game with this id or number."""
        for played in reversed(self):
            if text in (played.id, str(played.number)):
                return played
        raise Unsupported(
            f"no game {text} in the log of {self.run}, which keeps the newest games; "
            f"`zerofleet runs games {self.run}` lists them"
        )

    def newest(self, most: int) -> list[LoggedGame]:
        """The newest games, at most `most`, oldest first."""
        return list(islice(reversed(self), most))[::-1]

    def sampled(self, most: int) -> list[LoggedGame]:
        """At most `most` games, evenly spread over the log, oldest first."""
        stride = max(1, math.ceil(sum(1 for _ in self._all()) / most))
        return list(self._decoded(islice(self._all(), 0, None, stride)))

    def _decoded(self, found: Iterator[tuple[int, bytes]]) -> Iterator[LoggedGame]:
        for number, data in found:
            yield LoggedGame(number, Episode.decode(data), self.game, self.run)

    def _paths(self) -> list[Path]:
        return sorted(self._folder.glob("segment-*.zfl"))

    def _all(self) -> Iterator[tuple[int, bytes]]:
        return chain.from_iterable(map(self._games_in, self._paths()))

    def _games_in(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """The games of a file with their numbers; numbers after damage assume that no game was
        lost."""
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # removed by training meanwhile
            return
        faults: list[str] = []

        def on_damage(fault: str) -> None:
            faults.append(fault)
            self.faults[path] = "; ".join(faults)

        try:
            header, start = read_header(data, str(path))
            number = header.episodes_before
        except Damaged as fault:
            start, _ = skip_damaged_header(data)
            number = self._num_before(path)
            on_damage(f"{fault}; its first {start} bytes are skipped")
        try:
            for record in read_records(data, start, str(path), on_damage):
                yield number, data[record.start : record.end]
                number += 1
        except (Torn, Damaged) as fault:
            is_being_written = isinstance(fault, Torn) and path == max(self._paths(), default=path)
            if not is_being_written:
                on_damage(str(fault))

    def _num_before(self, path: Path) -> int:
        """Games before a file with a damaged header, counted from the previous file."""
        earlier = [each for each in self._paths() if each < path]
        numbers = [number for number, _ in self._games_in(earlier[-1])] if earlier else []
        return numbers[-1] + 1 if numbers else 0
