"""Arguments shared by several verbs."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.arena.players import Difficulty
from zerofleet.config import MAX_SEED
from zerofleet.errors import BadText
from zerofleet.games import Game, GameRecord, Position, get, read_games
from zerofleet.games.formats import FORMATS
from zerofleet.games.registry import as_utf8
from zerofleet.printing import say

GameName = Annotated[
    str,
    typer.Argument(
        metavar="GAME", help="One of `zerofleet games`, or a custom game: file.py:Class or file.h."
    ),
]
PositionText = Annotated[
    str | None,
    typer.Argument(metavar="TEXT", help="A position in the game's notation. Default: a new game."),
]
GameOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--option", metavar="NAME=VALUE", help="A game option, such as size=9; may be repeated."
    ),
]
PlayerText = Annotated[
    str, typer.Argument(metavar="PLAYER", help="E.g. heuristic, playout-200, best or run:NAME.")
]
AnalysisPlayer = Annotated[
    str | None,
    typer.Option(
        "--player",
        metavar="PLAYER",
        help="The searching player: best, run:NAME, file:PATH or playout-N, with settings such as "
        "best,sims=1000 or best,seconds=5. Default: best if zerofleet ships weights for the game, "
        "else playout.",
    ),
]
NumSimulations = Annotated[
    int | None,
    typer.Option("--simulations", min=1, help="Simulations per move; the same as ,sims=N."),
]
NumSeconds = Annotated[
    float | None,
    typer.Option("--seconds", help="Seconds per move instead; the same as ,seconds=S."),
]
DifficultyOption = Annotated[
    Difficulty | None,
    typer.Option(
        "--difficulty",
        help="easy: search alone (default). medium: it also asks the game's solver, where it has "
        "one. hard: and with four times the budget. The same as ,difficulty= in a player's text; "
        "for every player that searches and does not name one.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=MAX_SEED, help="Seed of deals, dice, openings and search.")
]
NumThreads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Number of threads. Default: one per core.")
]

FORMAT_HELP = f"One of {', '.join(FORMATS)}. Default: from the file's extension."
ReadAs = Annotated[str | None, typer.Option("--from", metavar="FORMAT", help=FORMAT_HELP)]
GameOfFile = Annotated[
    str | None,
    typer.Option(
        "--game", metavar="GAME", help="Needed if the file does not name it, or for a custom game."
    ),
]
OnlyGame = Annotated[
    int | None, typer.Option("--only", min=1, metavar="N", help="Only game number N of the file.")
]

Sure = Annotated[
    bool, typer.Option("--yes", help="Do not ask to confirm a very large number of games.")
]
MANY_GAMES = 1_000_000
"""More need confirmation: a match keeps all its games in memory."""


def ask_about_many(num_games: int, is_sure: bool) -> None:
    """Asks to confirm a very large number of games; rejects it without a terminal."""
    if num_games <= MANY_GAMES or is_sure:
        return
    if not sys.stdin.isatty():
        raise BadText(f"--games {num_games:,} is over {MANY_GAMES:,}; add --yes to play them")
    typer.confirm(f"Play {num_games:,} games?", abort=True)


def option_values(options: list[str] | None) -> dict[str, str]:
    values: dict[str, str] = {}
    for option in options or []:
        name, equals, value = option.partition("=")
        if not equals:
            raise BadText(f"--option must be NAME=VALUE, such as size=9; got {option}")
        if name in values:
            raise BadText(f"--option {name} is given twice: {values[name]} and {value}")
        values[name] = value
    return values


def game_of(name: str, options: list[str] | None) -> Game:
    return get(name, **option_values(options))


def records_of(
    path: Path,
    read_as: str | None,
    name: str | None,
    options: list[str] | None,
    only: int | None,
) -> list[GameRecord]:
    """The games of a file, or only one of them; prints the file's notes."""
    if options and name is None:
        raise BadText("--option needs --game: it sets an option of that game")
    records = read_games(path, read_as, game_of(name, options) if name else None)
    if only is not None and only > len(records):
        raise BadText(f"--only {only}: {path} has {len(records)} games")
    chosen = records if only is None else records[only - 1 : only]
    for note in (note for record in chosen for note in record.notes):
        say(f"{path}: {note}", file=sys.stderr)
    return chosen


def refuse_unwritable(path: Path | None) -> None:
    """Raises BadText if the file cannot be written: before an hour of games, not after."""
    if path is None:
        return
    if path.is_dir():
        raise BadText(f"{path} is a folder; give the name of a file")
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise BadText(f"{path} cannot be written: {path.parent} must be a writable folder")


def position_of(game: Game, text: str | None, seed: int) -> Position:
    return game.new_position(seed) if text is None else game.from_text(as_utf8(text))
