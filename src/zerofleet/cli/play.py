"""zerofleet play"""

import random
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import Console

from zerofleet.arena import player
from zerofleet.arena.players import with_difficulty
from zerofleet.cli.arguments import DifficultyOption, GameName, GameOptions, game_of
from zerofleet.cli.play_game import AlwaysShow, Board
from zerofleet.cli.play_record import OngoingGame, read_record
from zerofleet.config import MAX_SEED, game_text
from zerofleet.errors import Inconsistent
from zerofleet.games import Game, absolute, is_source
from zerofleet.games.formats.text import SEATS
from zerofleet.runs.folder import BEST, Run, find
from zerofleet.runs.summaries import list_runs
from zerofleet.weights import WeightsStore, find_best

SIDED = ("gomoku", "connect4", "backgammon")
"""Games whose boards call the players X and O."""

UNTRAINED = "playout-1000"
"""The opponent in a game without trained weights."""


def play(
    name: GameName,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="PLAYER",
            help="E.g. run:NAME, playout-1000 or random. Default: the shipped weights (best), else "
            "your newest run of the game, else playout-1000.",
        ),
    ] = None,
    seat: Annotated[
        Literal["first", "second", "random"] | None,
        typer.Option(help="Your seat. Default: that of the saved game, else random."),
    ] = None,
    difficulty: DifficultyOption = None,
    option: GameOptions = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, max=MAX_SEED, help="Seed of deal, dice and opponent. Default: random."),
    ] = None,
    hints: Annotated[bool, typer.Option("--hints", help="Show a hint at each move.")] = False,
    thoughts: Annotated[
        bool, typer.Option("--thoughts", help="Show the opponent's analysis at each move.")
    ] = False,
    load: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Resume a saved game; also .sgf, .mat, .moves."),
    ] = None,
) -> None:
    """Play against an agent in the terminal.

    Moves are in the game's usual notation: h8, 4, 8/5 6/5, lion. Type ? for all commands.

    Example: zerofleet play connect4 --against playout-1000 --seat first
    """
    seed = seed if seed is not None else random.SystemRandom().randrange(2**31)
    own_run = None
    drawn = random.Random(seed).randrange(2)
    person = SEATS.index(seat) if seat in SEATS else drawn
    if load is not None:
        if option:
            raise Inconsistent("--option cannot be used with --load: a saved game has its options")
        record = read_record(load, name, against)
        if not record.against:
            record.against = strongest(record.game)
        if seat is not None:
            record.person = person
    else:
        game, against, own_run = game_and_opponent(name, option, against)
        record = OngoingGame(name, game, person, against, [game.new_position(seed)])
    [record.against] = with_difficulty([record.against], difficulty)
    console = Console(markup=False, highlight=False, emoji=False)
    with player(record.game, record.against) as opponent:
        board = Board(record, opponent, seed, AlwaysShow(hints, thoughts), console)
        board.say(
            f"{game_text(name, record.game.options)}: you are {SEATS[record.person]}, "
            f"against {record.against}; seed {seed}"
        )
        notes = [f"you are {'XO'[record.person]}"] if record.game.name in SIDED else []
        if not record.moves and record.position.to_move in (0, 1):
            is_own = record.position.to_move == record.person
            notes.append("you begin" if is_own else f"{opponent.name} begins")
        board.say("; ".join([*notes, "type rules for the rules, ? for all commands"]))
        if own_run:
            board.say(f"to play against your newest run: --against run:{own_run.name}")
        board.play()


def game_and_opponent(
    name: str, options: list[str] | None, against: str | None
) -> tuple[Game, str, Run | None]:
    """The game, the opponent, and the user's newest run if it is not the opponent.

    A run plays the variant of the game that it was trained on.
    """
    wanted = game_of(name, options)
    if against is not None:
        named = re.match("run:([^@,]+)", against)
        if named is None or options:
            return wanted, against, None
        trained = find(named[1]).game(wanted)
        if trained.name != wanted.name:
            raise Inconsistent(f"{against} is a run of {trained.name}, not of {name}")
        return trained, against, None
    newest = newest_run(name, wanted, any_variant=name == wanted.name and not options)
    if strongest(wanted) == BEST:
        return wanted, BEST, newest
    if newest is None:
        return wanted, UNTRAINED, None
    return newest.game(wanted), f"run:{newest.name}", None


def strongest(game: Game) -> str:
    """The default opponent without a run of this game."""
    return BEST if find_best(game.name, game.options) else UNTRAINED


def newest_run(name: str, wanted: Game, any_variant: bool) -> Run | None:
    """The newest run of this game that has weights."""
    played = absolute(name) if is_source(name) else wanted.name
    found = [
        run
        for run in (find(each.name) for each in list_runs() if not each.fault)
        if run.facts.game == played
        and (any_variant or option_texts(run.facts.options) == wanted.options)
        and WeightsStore(run.weights).versions()
    ]
    return max(found, key=lambda run: run.facts.created, default=None)


def option_texts(options: Mapping[str, int | str]) -> dict[str, str]:
    return {name: str(value) for name, value in options.items()}
