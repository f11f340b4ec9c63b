"""zerofleet convert"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.arguments import GameOptions, game_of, refuse_unwritable
from zerofleet.errors import BadText
from zerofleet.games import games_to_text, read_games, write_games
from zerofleet.games.formats import FORMATS, format_of
from zerofleet.printing import say

FORMAT_HELP = f"{', '.join(FORMATS)}; else as the file's name ends."


def convert(
    source: Annotated[Path, typer.Argument(metavar="IN", help="A file of games.")],
    target: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="Where they go; else they are printed.")
    ] = None,
    read_as: Annotated[
        str | None, typer.Option("--from", metavar="FORMAT", help=FORMAT_HELP)
    ] = None,
    write_as: Annotated[
        str | None, typer.Option("--to", metavar="FORMAT", help=FORMAT_HELP)
    ] = None,
    only: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Only the game of this number.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            "--game", metavar="GAME", help="Where IN does not say it, or it is a custom game."
        ),
    ] = None,
    option: GameOptions = None,
) -> None:
    """Convert games that were played from one format into another.

    sgf is Gomoku, mat backgammon as GNU Backgammon has it, moves Connect Four as columns (4453),
    and text any game, as `zerofleet play` saves it; a text holds one game.

    Example: zerofleet convert match.mat first.txt --only 1
    """
    if option and name is None:
        raise BadText("--option goes with --game: it is an option of that game")
    game = game_of(name, option) if name else None
    records = read_games(source, read_as, game)
    for note in (note for record in records for note in record.notes):
        say(f"{source}: {note}", file=sys.stderr)
    if only is not None:
        if only > len(records):
            raise BadText(f"--only {only}: {source} has {len(records)} games")
        records = records[only - 1 : only]
    if target is None:
        say(games_to_text(records, write_as or "text"), end="")
        return
    refuse_unwritable(target)
    write_games(target, records, write_as)
    written = f"{len(records)} games" if len(records) > 1 else records[0].game.name
    say(f"{target}: {written}, {write_as or format_of(target)}")
