"""Who has a run: one process at a time. When it dies, however it dies, the next can have it.

A run that cannot be written, such as one on a read-only medium, can still be read undisturbed.
"""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from zerofleet.errors import ZerofleetError

LOCK = "run.lock"


class RunInUse(ZerofleetError):
    """Another process has this run."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from having the run in a folder."""
    with (folder / LOCK).open("a+") as file:
        take(file, folder, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink == 0:
            raise RunInUse(f"{folder} was being removed; try again")
        file.truncate(0)
        try:
            os.write(file.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError as error:
            error.filename = file.name  # a write does not say which file it was for
            raise
        yield


@contextmanager
def undisturbed(folder: Path) -> Iterator[None]:
    """The same for whoever only reads the run, which may lie where nothing can be written."""
    path = folder / LOCK
    if os.access(folder, os.W_OK):
        with locked(folder):
            yield
    elif path.exists():
        with path.open() as file:
            take(file, folder, fcntl.LOCK_SH)
            yield
    else:
        yield  # whoever has a run has written that file


def take(file: IO[str], folder: Path, kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        raise RunInUse(
            f"{folder} is in use by {file.read().strip() or 'another process'}; stop that, or "
            "use another name"
        ) from None
