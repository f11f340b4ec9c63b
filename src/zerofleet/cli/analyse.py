"""zerofleet analyse"""

import json
import os
from collections.abc import Iterator
from typing import Annotated

import typer

from zerofleet.arena.analysis_engine import MAX_LINE_BYTES, AnalysisEngine, Defaults
from zerofleet.arena.players import analysis_player, search_player, with_budget
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.cli.arguments import (
    AnalysisPlayer,
    GameOptions,
    NumSeconds,
    NumSimulations,
    PositionText,
    Seed,
    game_of,
    position_of,
)
from zerofleet.cli.output import print_table
from zerofleet.config import game_text
from zerofleet.errors import BadText
from zerofleet.games import Game
from zerofleet.runs.folder import BEST

STANDARD_INPUT = 0
CHUNK_BYTES = 1 << 16


def analyse(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="GAME",
            help="One of `zerofleet games`, or a custom game: file.py:Class or file.h. With --json "
            "each request may name one of `zerofleet games` instead.",
        ),
    ] = None,
    text: PositionText = None,
    player: AnalysisPlayer = None,
    num_simulations: NumSimulations = None,
    seconds: NumSeconds = None,
    seed: Seed = 1,
    top: Annotated[int, typer.Option(min=1, help="Number of actions to list.")] = 20,
    option: GameOptions = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Run as an engine: one JSON request per line of input."),
    ] = False,
    at_once: Annotated[
        int, typer.Option(min=1, help="With --json: number of concurrent searches.")
    ] = 32,
) -> None:
    """Search a position and list the best actions.

    Values are for the player to move. The search does not explore: no noise, no forced playouts.

    With --json it is an engine for other programs: it reads one request per line and writes one
    answer per line until its input ends. docs/6-arena.md lists the fields.

    Example: zerofleet analyse connect4 4453 --seconds 1
    """
    game = None if name is None else game_of(name, option)
    if as_json:
        if text is not None:
            raise BadText("TEXT cannot be used with --json: positions come from standard input")
        if option and game is None:
            raise BadText("--option needs GAME: it sets an option of that game")
        answer_requests(Defaults(game, player, num_simulations, seconds, top), at_once)
        return
    if game is None:
        raise BadText("GAME is missing: name one, such as connect4, or use --json")
    position = position_of(game, text, seed)
    with analysing_player(game, player, num_simulations, seconds) as analysing:
        print(position, end="", flush=True)
        # What a person looks at is exact wherever it can be.
        (analysis,) = analysing.analyse_many([position], [seed], use_endgame_solver=game.has_solver)
    print(analysis.summary())
    header = ("action", "visits", "policy", "value", "prior")
    rows = analysis.rows()
    print_table(header, rows[:top], numbers=header[1:])
    if len(rows) > top:
        print(f"… {len(rows) - top} more")
    print(f"line: {analysis.line_text()}")


def analysing_player(
    game: Game, text: str | None, num_simulations: int | None, seconds: float | None
) -> SearchPlayer:
    """The analysing player; prints its name if it is the default."""
    chosen = with_budget(text or analysis_player(game), num_simulations, seconds)
    player = search_player(game, chosen)
    if text is None:
        shipped = "ships" if chosen.startswith(BEST) else "ships no"
        played = game_text(game.name, game.options)
        print(f"player: {chosen} (zerofleet {shipped} weights for {played})")
    return player


# ---- the engine


def answer_requests(defaults: Defaults, at_once: int) -> None:
    for answer in AnalysisEngine(defaults, at_once).answers(lines_of(STANDARD_INPUT)):
        print(json.dumps(answer), flush=True)


def lines_of(descriptor: int) -> Iterator[bytes]:
    """The lines of a file or pipe. A line over the limit is shortened to just over it.

    Unbuffered: a thread that blocks in a buffered read would keep the process from exiting.
    """
    rest = b""
    while chunk := read_some(descriptor):
        *whole, rest = (rest + chunk).split(b"\n")
        yield from whole
        rest = rest[: MAX_LINE_BYTES + 1]
    yield rest


def read_some(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, CHUNK_BYTES)
    except OSError as error:
        raise BadText(f"standard input cannot be read: {error.strerror}") from None
