"""How far games are: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_PER_LINE = 10.0

OnGames = Callable[[str, int, int], None]
"""Told what is played, how many games are over, and of how many."""


@contextmanager
def games_progress() -> Iterator[OnGames]:
    """Shows it on standard error, so that standard output has the result alone."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield line_printer()
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(what: str, num_done: int, num_games: int) -> None:
            progress.update(task, description=what, completed=num_done, total=num_games)

        yield show


def line_printer() -> OnGames:
    """Prints at most one line in so many seconds."""
    printed = time.monotonic()

    def show(what: str, num_done: int, num_games: int) -> None:
        nonlocal printed
        if time.monotonic() - printed >= SECONDS_PER_LINE:
            printed = time.monotonic()
            print(f"{what}: {num_done} of {num_games} games", file=sys.stderr, flush=True)

    return show
