"""zerofleet bench"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.errors import Unsupported

BENCHMARKS = Path(__file__).parents[3] / "bench"
"""Benchmarks and their results are part of a checkout of the project, not of the package."""


def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="core, gpu or train.")],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION", help="Its own: see zerofleet bench WHAT --help."),
    ] = None,
) -> None:
    """Measure speed on this machine; what is found is kept in bench/results.

    core: the core beside other projects, which are installed into build/bench-peers; some minutes.

    gpu: what a CUDA GPU does in inference, self-play and training; --list has all measurements.

    train: where the time of a run goes, game by game.

    Example: zerofleet bench core --seconds 2 --no-record
    """
    script = BENCHMARKS / what / "run.py"
    known = sorted(path.parent.name for path in BENCHMARKS.glob("*/run.py"))
    if not known:
        raise Unsupported("benchmarks are run from a checkout of the project: pip install -e .")
    if what not in known:
        raise Unsupported(f"unknown benchmark {what}; known: {', '.join(known)}")
    raise typer.Exit(subprocess.run([sys.executable, str(script), *(options or [])]).returncode)
