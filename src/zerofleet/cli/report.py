"""zerofleet report"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.report import write_report
from zerofleet.runs.folder import find


def report(
    run: Annotated[str, typer.Argument(metavar="RUN", help="A run; see zerofleet runs list.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Output folder. Default: report/ in the run folder."),
    ] = None,
) -> None:
    """Write an HTML report of a run.

    It shows strength, losses, game length, openings, throughput, a game and the settings. The page
    is self-contained; its plots are also written as PNG files. The run may be training.

    Example: zerofleet report c4 --out c4-report
    """
    print(f"report of {run}: {write_report(find(run), out)}")
