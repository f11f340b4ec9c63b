"""Reads the games in an episode log. The run may still be training.

The log keeps the newest games: old files are removed as new ones are written. Files are read one
by one, so a log may exceed memory.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

from zerofleet.config import game_text
from zerofleet.errors import Inconsistent, Unsupported, ZerofleetError
from zerofleet.games import Episode, Game, GameRecord, Position
from zerofleet.replay.segment import (
    Damaged,
    Torn,
    read_episodes,
    read_header,
    skip_damaged_header,
)

SEGMENTS = "segment-*.zfl"
"""The files of a log."""
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
    surprise: float | None
    """Divergence of the policy target from the priors; None without a full search."""


@dataclass(frozen=True)
class LoggedGame:
    """One game of a log."""

    number: int
    """Position in the log: the number of games before it."""
    episode: Episode
    game: Game
    run: str
    """Empty where the log is not known to be of a run."""

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
    def versions(self) -> tuple[int, int]:
        """The lowest and the highest version of the weights that played in it."""
        played = [event.version for event in self.episode.events if event.kind != "chance"]
        return min(played, default=0), max(played, default=0)

    @property
    def searches(self) -> Counter[str]:
        """How many decisions had a full search, a fast one or none."""
        return Counter(event.kind for event in self.episode.events if event.kind != "chance")

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
                event.surprise if event.kind == "full" else None,
            )

    def record(self) -> GameRecord:
        """For zf.games.write_games."""
        player = f"run:{self.run}@{self.version}" if self.run else ""
        return GameRecord.from_episode(self.episode, self.game, (player, player))


class GameSet(ABC):
    """Games of one source, oldest first; reversed() gives the newest first."""

    def __init__(self, source: str, game: Game, run: str = "") -> None:
        self.source = source
        """How a command line names it."""
        self.game = game
        self.run = run
        self.faults: dict[Path | int, str] = {}
        """Damage read so far, by file or by number of a game; damaged games are skipped."""

    @abstractmethod
    def _all(self) -> Iterator[tuple[int, bytes]]:
        """Numbers and episodes, oldest first."""

    @abstractmethod
    def _newest_first(self) -> Iterator[tuple[int, bytes]]: ...

    def __iter__(self) -> Iterator[LoggedGame]:
        return self._decoded(self._all())

    def __reversed__(self) -> Iterator[LoggedGame]:
        return self._decoded(self._newest_first())

    def find(self, text: str) -> LoggedGame:
        """The game with this id or number."""
        for played in reversed(self):
            if text in (played.id, str(played.number)):
                return played
        raise Unsupported(
            f"no game {text} in {self.source}; `zerofleet episodes list {self.source}` lists the "
            "games that it has"
        )

    def newest(self, max_games: int) -> list[LoggedGame]:
        """The newest games, at most `max_games`, oldest first."""
        return list(islice(reversed(self), max_games))[::-1]

    def sampled(self, max_games: int) -> list[LoggedGame]:
        """At most `max_games` games, evenly spread over the log, oldest first."""
        stride = max(1, math.ceil(sum(1 for _ in self._all()) / max_games))
        return list(self._decoded(islice(self._all(), 0, None, stride)))

    def _decoded(self, found: Iterator[tuple[int, bytes]]) -> Iterator[LoggedGame]:
        for number, data in found:
            try:
                episode = self._checked(data)
            except ZerofleetError as fault:
                self.faults[number] = f"{self.source}: game {number}: {fault}"
                continue
            yield LoggedGame(number, episode, self.game, self.run)

    def _checked(self, data: bytes) -> Episode:
        episode = Episode.decode(data)
        theirs = dict(episode.options)
        if (episode.game, theirs) != (self.game.name, self.game.options):
            raise Inconsistent(
                f"it is of {game_text(episode.game, theirs)}, not of "
                f"{game_text(self.game.name, self.game.options)}"
            )
        return episode


class EpisodeList(GameSet):
    """Encoded episodes with their numbers, oldest first. They are untrusted, so each is checked by
    replay."""

    def __init__(
        self, source: str, game: Game, episodes: Iterable[tuple[int, bytes]], run: str = ""
    ) -> None:
        super().__init__(source, game, run)
        self._episodes = list(episodes)

    def _all(self) -> Iterator[tuple[int, bytes]]:
        return iter(self._episodes)

    def _newest_first(self) -> Iterator[tuple[int, bytes]]:
        return reversed(self._episodes)

    def _checked(self, data: bytes) -> Episode:
        episode = super()._checked(data)
        episode.verify(self.game)
        return episode


class FiledGames(GameSet):
    """Games in one file, or in all files of a folder whose names match a pattern, by name."""

    def __init__(self, place: Path, pattern: str, source: str, game: Game, run: str = "") -> None:
        super().__init__(source, game, run)
        self.on_file: Callable[[int, int], None] = lambda num_read, num_all: None
        """Called before each file with the number of files read and to read."""
        self._place = place
        self._pattern = pattern

    @abstractmethod
    def _games_in(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """The games of a file with their numbers; none if it has been removed."""

    def _all(self) -> Iterator[tuple[int, bytes]]:
        return chain.from_iterable(map(self._games_in, self._one_by_one(self._paths())))

    def _newest_first(self) -> Iterator[tuple[int, bytes]]:
        for path in self._one_by_one(self._paths()[::-1]):
            yield from reversed(list(self._games_in(path)))

    def _paths(self) -> list[Path]:
        return sorted(self._place.glob(self._pattern)) if self._place.is_dir() else [self._place]

    def _one_by_one(self, paths: Sequence[Path]) -> Iterator[Path]:
        for number, path in enumerate(paths):
            self.on_file(number, len(paths))
            yield path


class LoggedGames(FiledGames):
    """The games of an episode log."""

    def __init__(self, place: Path, game: Game, run: str = "") -> None:
        super().__init__(place, SEGMENTS, f"run:{run}" if run else str(place), game, run)

    def _games_in(self, path: Path) -> Iterator[tuple[int, bytes]]:
        """Numbers after damage assume that no game was lost."""
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
            for record in read_episodes(data, start, str(path), on_damage):
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
