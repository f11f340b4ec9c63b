"""zerofleet bench"""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.errors import Unsupported

BENCHMARKS = Path(__file__).parents[3] / "bench"
"""Benchmarks and their results are part of the checkout, not of the package."""


def bench(
    what: Annotated[str, typer.Argument(metavar="WHAT", help="E.g. core, gpu or train.")],
    options: Annotated[
        list[str] | None,
        typer.Argument(metavar="OPTION", help="Its options; see zerofleet bench WHAT --help."),
    ] = None,
) -> None:
    """Run a benchmark on this machine and record it in bench/results.

    core: the C++ core against other projects, installed into build/bench-peers. Takes minutes.

    cluster: inference servers: games/s through one, latency, and what the wire takes.

    difficulty: easy, medium and hard of a game: time per move, each one's score against the one
    below.

    gpu: inference, self-play and training on a CUDA GPU; --list names the measurements.

    solve: the solvers; solve gomoku: positions solved within 0.1, 1 and 10 s; solve forced_wins:
    those of Gomoku that the shipped weights find by search alone; solve beastybar: endings; solve
    backgammon: the shipped weights and the one-sided estimate on solved bear-offs; solve connect4:
    times of the solver, networks on solved positions; solve targets: what
    replay.use_solved_values changes in a run's value targets; solve trained: what it does to runs
    of tic-tac-toe.

    train: where the time of a training run goes, for each game.

    web: the dashboard: paging through 50,000 games, and training while 200 people watch.

    Example: zerofleet bench core --seconds 2 --no-record
    """
    script = BENCHMARKS / what / "run.py"
    known = sorted(path.parent.name for path in BENCHMARKS.glob("*/run.py"))
    if not known:
        raise Unsupported("benchmarks need a checkout of the project: pip install -e .")
    if what not in known:
        raise Unsupported(f"unknown benchmark {what}; known: {', '.join(known)}")
    raise typer.Exit(subprocess.run([sys.executable, str(script), *(options or [])]).returncode)
