"""The lock of a run folder: one process at a time, released when that process ends in any way.

A run on a read-only disk can be locked for reading.
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
    """Another process holds this run's lock."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the exclusive lock of the run in a folder."""
    with (folder / LOCK).open("a+") as file:
        take(file, folder, fcntl.LOCK_EX)
        if os.fstat(file.fileno()).st_nlink == 0:
            raise RunInUse(f"{folder} was being removed; try again")
        file.truncate(0)
        try:
            os.write(file.fileno(), f"process {os.getpid()} on {socket.gethostname()}\n".encode())
        except OSError as error:
            error.filename = file.name  # the error of a write names no file
            raise
        yield


@contextmanager
def locked_for_reading(folder: Path) -> Iterator[None]:
    """The same for readers; the run may be on a read-only disk."""
    path = folder / LOCK
    if os.access(folder, os.W_OK):
        with locked(folder):
            yield
    elif path.exists():
        with path.open() as file:
            take(file, folder, fcntl.LOCK_SH)
            yield
    else:
        yield  # no lock file: no process holds the run


def take(file: IO[str], folder: Path, kind: int) -> None:
    try:
        fcntl.flock(file, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        raise RunInUse(
            f"{folder} is in use by {file.read().strip() or 'another process'}; stop that, or "
            "use another name"
        ) from None
