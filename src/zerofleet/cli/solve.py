"""zerofleet solve"""

import math
from typing import Annotated

import typer

from zerofleet._core import hypergammon_tolerance
from zerofleet.cli.arguments import GameOptions, game_of
from zerofleet.cli.progress import progress_of
from zerofleet.errors import Unsupported
from zerofleet.printing import size_text
from zerofleet.solve import backgammon, tables


def solve(
    name: Annotated[str, typer.Argument(metavar="GAME", help="backgammon")],
    option: GameOptions = None,
) -> None:
    """Build the tables of a game's solver.

    They are kept in the cache folder. Backgammon: the bear-off tables; with --option checkers=1, 2
    or 3 the whole game (hypergammon). Three checkers take minutes and about 250 MB, on disk and in
    memory; the others take seconds and are built on first use too. Ctrl-C stops it, and nothing is
    kept.

    Example: zerofleet solve backgammon --option checkers=2
    """
    game = game_of(name, option)
    if game.name != "backgammon":
        raise Unsupported(f"only backgammon's solver has tables, not that of {game.name}")
    checkers = backgammon.checkers_of(game)
    what = backgammon.name_of(checkers)
    with progress_of("digits") as show:
        first = last = 3.0  # the largest reward
        if checkers != backgammon.STANDARD:
            last = hypergammon_tolerance(checkers)
        num_digits = round(math.log10(first / last))

        def show_progress(num_sweeps: int, change: float) -> None:
            gained = min(num_digits, max(0, round(math.log10(first / change)))) if change else 0
            show(f"{what}: sweep {num_sweeps}, largest change {change:.1g}", gained, num_digits)

        built = backgammon.build_table(checkers, show_progress)
    path = tables.path_of(what, backgammon.VERSION)
    size = size_text(path.stat().st_size) if path.exists() else "not kept"
    print(f"{what}: {'built' if built else 'already built'}, {size}, {path}")
