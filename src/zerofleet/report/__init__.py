"""Writes the report of a run: one HTML page with its plots."""

from pathlib import Path

from zerofleet.errors import Inconsistent
from zerofleet.metrics import needed
from zerofleet.report.data import collect
from zerofleet.report.page import page
from zerofleet.runs.folder import Run
from zerofleet.storage import write_whole

__all__ = ["write_report"]


def write_report(run: Run, out: Path | None = None) -> Path:
    """Writes the page and its plots; returns the path of the page."""
    needed("matplotlib", "zerofleet[train]")
    # Imported here: it loads matplotlib.
    from zerofleet.report.plots import plots

    data = collect(run)
    folder = out or data.run.folder / "report"
    drawn = plots(data)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, png in drawn.items():
            write_whole(folder / f"{name}.png", png)
        write_whole(folder / "index.html", page(data, drawn).encode())
    except (FileExistsError, NotADirectoryError):
        raise Inconsistent(f"--out {folder} is not a folder; give another") from None
    return folder / "index.html"
