"""zerofleet report"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.cli.report_data import collect
from zerofleet.cli.report_page import page
from zerofleet.errors import Inconsistent
from zerofleet.files import write_whole
from zerofleet.metrics import needed
from zerofleet.run_folders import Run, find


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


def write_report(run: Run, out: Path | None = None) -> Path:
    """Writes the page and its plots; gives the page."""
    needed("matplotlib", "zerofleet[train]")
    # Only now: it loads matplotlib.
    from zerofleet.cli.report_plots import plots

    data = collect(run)
    folder = out or data.run.folder / "report"
    drawn = plots(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, png in drawn.items():
            write_whole(folder / f"{name}.png", png)
        write_whole(folder / "index.html", page(data, drawn).encode())
    except (FileExistsError, NotADirectoryError):
        raise Inconsistent(f"--out {folder} is no folder; give another") from None
    return folder / "index.html"
