"""zerofleet report"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.report import write_report
from zerofleet.runs.folder import find


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run; see zerofleet runs list.")],
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Else the run's own folder, in report/.")
    ] = None,
) -> None:
    """Write a page about a run: strength, losses, games, openings, speed, settings, a game.

    The page needs no other file; its plots lie beside it as PNG too. A run that is training can be
    reported on.

    Example: zerofleet report c4 --out c4-report
    """
    print(f"report of {run}: {write_report(find(run), out)}")
