"""zerofleet judge"""

from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress

from zerofleet.arena import player
from zerofleet.arena.gnubg import MAX_PLIES
from zerofleet.arena.judge import judge as judge_player
from zerofleet.cli.arguments import Seed
from zerofleet.cli.output import print_table
from zerofleet.printing import say


def judge(
    text: Annotated[str, typer.Argument(metavar="PLAYER", help="E.g. run:NAME or gnubg-0.")],
    num_decisions: Annotated[
        int,
        typer.Option(
            "--decisions", min=1, help="Decisions to judge; a reliable figure needs 1,000."
        ),
    ] = 1000,
    plies: Annotated[
        int, typer.Option(min=0, max=MAX_PLIES, help="GnuBG's search depth in plies.")
    ] = 2,
    seed: Seed = 1,
    num_worst: Annotated[
        int, typer.Option("--worst", min=0, help="Number of worst decisions to list.")
    ] = 5,
) -> None:
    """Measure a backgammon player's equity loss with GnuBG.

    Prints the mean loss per decision and the worst decisions.

    Example: zerofleet judge heuristic --decisions 20 --plies 0
    """
    console = Console(stderr=True)
    with (
        player("backgammon", text) as judged,
        Progress(console=console, transient=True, disable=not console.is_terminal) as progress,
    ):
        task = progress.add_task("starting GnuBG", total=None)

        def show_progress(what: str, num_done: int, num_all: int) -> None:
            progress.update(task, description=what, completed=num_done, total=num_all)

        judgement = judge_player(judged, num_decisions, plies, seed, on_progress=show_progress)
    say(judgement)
    header = ("lost", "played", "better", "position")
    rows = [
        (f"{decision.equity_lost:.3f}", decision.chosen, decision.best, decision.position)
        for decision in judgement.worst(num_worst)
    ]
    if rows:
        print_table(header, rows, numbers=("lost",))
