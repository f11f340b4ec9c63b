"""Progress of long work: a bar on a terminal, occasional lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

SECONDS_PER_LINE = 10.0

OnProgress = Callable[[str, int, int], None]
"""Called with a description, the number of parts done, and the total."""


def games_progress() -> AbstractContextManager[OnProgress]:
    return progress_of("games")


@contextmanager
def progress_of(parts: str) -> Iterator[OnProgress]:
    """Shows progress on standard error, so that standard output holds only the result."""
    console = Console(stderr=True)
    if not console.is_terminal:
        yield line_printer(parts)
        return
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as progress:
        task = progress.add_task("", total=None)

        def show(what: str, num_done: int, num_all: int) -> None:
            progress.update(task, description=what, completed=num_done, total=num_all)

        yield show


def line_printer(parts: str) -> OnProgress:
    """Prints at most one line per SECONDS_PER_LINE."""
    printed = time.monotonic()

    def show(what: str, num_done: int, num_all: int) -> None:
        nonlocal printed
        if time.monotonic() - printed >= SECONDS_PER_LINE:
            printed = time.monotonic()
            print(f"{what}: {num_done} of {num_all} {parts}", file=sys.stderr, flush=True)

    return show
