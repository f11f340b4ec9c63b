"""zerofleet convert"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.arguments import (
    FORMAT_HELP,
    GameOfFile,
    GameOptions,
    OnlyGame,
    ReadAs,
    records_of,
    refuse_unwritable,
)
from zerofleet.games import games_to_text, write_games
from zerofleet.games.formats import format_of
from zerofleet.printing import say


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A file of games.")],
    target: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="Where they go; else they are printed.")
    ] = None,
    read_as: ReadAs = None,
    write_as: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help=FORMAT_HELP)
    ] = None,
    only: OnlyGame = None,
    name: GameOfFile = None,
    option: GameOptions = None,
) -> None:
    """Convert games that were played from one format into another.

    sgf is Gomoku, mat backgammon as GNU Backgammon has it, moves Connect Four as columns (4453),
    and text any game, as `zerofleet play` saves it; a text holds one game.

    Example: zerofleet convert match.mat first.txt --only 1
    """
    records = records_of(source, read_as, name, option, only)
    if target is None:
        say(games_to_text(records, write_as or "text"), end="")
        return
    refuse_unwritable(target)
    write_games(target, records, write_as)
    written = f"{len(records)} games" if len(records) > 1 else records[0].game.name
    say(f"{target}: {written}, {write_as or format_of(target)}")
