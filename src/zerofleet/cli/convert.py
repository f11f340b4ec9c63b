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
        Path | None, typer.Argument(metavar="OUT", help="The output file. Default: print.")
    ] = None,
    read_as: ReadAs = None,
    write_as: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help=FORMAT_HELP)
    ] = None,
    only: OnlyGame = None,
    name: GameOfFile = None,
    option: GameOptions = None,
) -> None:
    """Convert game records between formats.

    sgf: Gomoku. mat: backgammon, as GNU Backgammon writes it. moves: Connect Four as columns
    (4453). text: any game, one per file, as `zerofleet play` saves it.

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
