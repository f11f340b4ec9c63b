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
    seconds: Annotated[
        float | None,
        typer.Option(min=0.1, help="Of each measurement; unless said, what suits it."),
    ] = None,
    record: Annotated[bool, typer.Option(help="Keep the result in bench/results.")] = True,
) -> None:
    """Measure speed beside that of other projects, on this machine, in one run.

    Installs what it compares with into build/bench-peers. Takes some minutes.

    Example: zerofleet bench core --seconds 2 --no-record
    """
    script = BENCHMARKS / what / "run.py"
    known = sorted(path.parent.name for path in BENCHMARKS.glob("*/run.py"))
    if not known:
        raise Unsupported("benchmarks are run from a checkout of the project: pip install -e .")
    if what not in known:
        raise Unsupported(f"unknown benchmark {what}; known: {', '.join(known)}")
    command = [sys.executable, str(script)]
    command += [] if seconds is None else ["--seconds", str(seconds)]
    command += [] if record else ["--no-record"]
    raise typer.Exit(subprocess.run(command).returncode)
