"""Where a command line finds episodes: in a run, in files, or in the stream of a fleet."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from zerofleet import runs
from zerofleet.cli.arguments import game_of
from zerofleet.cli.fleet_bus import bus_of
from zerofleet.cli.progress import progress_of
from zerofleet.errors import BadBytes, BadText, ZerofleetError
from zerofleet.games import Episode, Game
from zerofleet.games.registry import built_in_or_given
from zerofleet.printing import say
from zerofleet.replay.segment import (
    EPISODE_MAGIC,
    MAGIC,
    Damaged,
    read_header,
    skip_damaged_header,
)
from zerofleet.runs.logged_games import (
    SEGMENTS,
    EpisodeList,
    FiledGames,
    GameSet,
    LoggedGames,
)
from zerofleet.selfplay.spool import HEADER_BYTES, is_torn, next_record
from zerofleet.selfplay.spool import MAGIC as SPOOL_MAGIC

RUN = "run:"
STREAM = "redis"
SPOOLED = "*.games"
MAX_STREAMED = 2000
"""Games of a stream that are looked at: the newest. A slow network brings them within seconds."""
SOURCE_HELP = (
    "run:NAME; a file or folder of an episode log or of a worker's spool; a file with one encoded "
    "episode; or redis: what waits for the trainer of --run."
)
Source = Annotated[str, typer.Argument(metavar="SOURCE", help=SOURCE_HELP)]


@dataclass(frozen=True)
class Where:
    """What is needed to find and decode some sources: --game, --option, --run, --redis."""

    name: str | None = None
    option: list[str] | None = None
    run: str | None = None
    redis: str | None = None

    def game(self) -> Game | None:
        if self.option and self.name is None:
            raise BadText("--option needs --game: it sets an option of that game")
        return game_of(self.name, self.option) if self.name else None


@contextmanager
def reading(source: str, where: Where) -> Iterator[GameSet]:
    """The games of a source, with progress while they are read and damage reported at the end."""
    given = where.game()
    if source == STREAM:
        found = games_of_stream(given, where)
    elif where.run or where.redis:
        raise BadText(f"--run and --redis are for the source {STREAM}, not for {source}")
    else:
        found = games_of(source, given)
    with progress_of("files") as show:
        if isinstance(found, FiledGames):
            found.on_file = lambda num_read, num_all: show(f"reading {source}", num_read, num_all)
        yield found
    for fault in found.faults.values():
        say(f"{fault}; skipped", file=sys.stderr)


def games_of(source: str, given: Game | None) -> GameSet:
    """The games of a source; `given` is the game that the user named."""
    if source.startswith(RUN):
        if given is not None:
            raise BadText(f"--game cannot be used with {source}: a run knows its game")
        return runs.games(source.removeprefix(RUN))
    place = Path(source)
    if not place.exists():
        raise BadText(f"there is no file {place}; a run is named run:NAME")
    is_folder = place.is_dir()
    segments = sorted(place.glob(SEGMENTS)) if is_folder else [place]
    spooled = sorted(place.glob(SPOOLED)) if is_folder else [place]
    if not segments and not spooled:
        raise BadText(f"{place} has neither {SEGMENTS} nor {SPOOLED}; a run is named run:NAME")
    with (segments or spooled)[0].open("rb") as file:
        start = file.read(len(SPOOL_MAGIC))
    if start.startswith(MAGIC) or (segments and is_folder):
        return LoggedGames(place, game_of_segment(segments[0], given))
    if start.startswith(SPOOL_MAGIC):
        return SpooledGames(place, game_of_spool(spooled[0], given))
    if start.startswith(EPISODE_MAGIC):
        data = place.read_bytes()
        return EpisodeList(source, game_of_episode(source, data, given), [(0, data)])
    raise BadBytes(
        f"{place} holds no episodes: a file of a log begins with {MAGIC.decode()}, of a spool with "
        f"{SPOOL_MAGIC.decode()}, an episode with {EPISODE_MAGIC.decode()}, this with {start!r}"
    )


class SpooledGames(FiledGames):
    """The games of a worker's spool, which may grow meanwhile."""

    def __init__(self, place: Path, game: Game) -> None:
        super().__init__(place, SPOOLED, str(place), game)

    def _games_in(self, path: Path) -> Iterator[tuple[int, bytes]]:
        try:
            data = path.read_bytes()
        except FileNotFoundError:  # the trainer has confirmed its games meanwhile
            return
        start = 0
        while (whole := next_record(data, start)) is not None:
            number, _, at, end = whole
            if at - HEADER_BYTES > start:
                self.faults.setdefault(path, f"{path}: damaged from byte {start} on")
            yield number, data[at:end]
            start = end
        if start < len(data) and not is_torn(data, start):
            self.faults.setdefault(path, f"{path}: damaged from byte {start} on")


def game_of_spool(path: Path, given: Game | None) -> Game:
    data = path.read_bytes()
    whole = next_record(data, 0)
    if whole is None:
        raise BadBytes(f"{path}: it has no intact game")
    _, _, at, end = whole
    return game_of_episode(str(path), data[at:end], given)


def no_games(games: GameSet) -> BadText:
    """Why a source has none."""
    return BadText(next(iter(games.faults.values()), f"{games.source} has no games"))


def games_of_stream(given: Game | None, where: Where) -> GameSet:
    """What waits in a fleet's Redis; it stays there."""
    if where.run is None:
        raise BadText(f"the source {STREAM} needs --run NAME")
    with bus_of(where.run, where.redis) as bus:
        waiting = [each.episode for each in bus.peek_episodes(MAX_STREAMED)]
    if not waiting:
        raise BadText(f"no game of {where.run} waits for the trainer")
    for data in reversed(waiting):
        with suppress(BadBytes):  # reported where the games are read
            game = game_of_episode(STREAM, data, given)
            return EpisodeList(STREAM, game, enumerate(waiting), where.run)
    raise BadBytes(f"{len(waiting)} entries wait, none of which is an episode")


def game_of_segment(path: Path, given: Game | None) -> Game:
    data = path.read_bytes()
    try:
        header, _ = read_header(data, str(path))
    except Damaged:
        _, episode = skip_damaged_header(data)
        if episode is None:
            raise BadBytes(f"{path}: damaged, without an intact episode") from None
        return game_named(str(path), episode.game, dict(episode.options), given)
    return game_named(str(path), header.game, header.options, given)


def game_of_episode(source: str, data: bytes, given: Game | None) -> Game:
    try:
        episode = Episode.decode(data)
    except ZerofleetError as error:
        raise type(error)(f"{source}: {error}") from None
    return game_named(source, episode.game, dict(episode.options), given)


def game_named(source: str, name: str, options: dict[str, str], given: Game | None) -> Game:
    try:
        return built_in_or_given(name, options, given)
    except ZerofleetError as error:
        raise type(error)(f"{source}: {error}") from None
