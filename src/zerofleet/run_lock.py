"""Who has a run: one process at a time. When it dies, however it dies, the next can have it."""

import fcntl
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from zerofleet.errors import ZerofleetError

LOCK = "run.lock"


class RunInUse(ZerofleetError):
    """Another process has this run."""


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Keeps other processes from having the run in a folder."""
    with (folder / LOCK).open("a+") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            raise RunInUse(
                f"{folder} is in use by {file.read().strip() or 'another process'}; stop that, or "
                "use another name"
            ) from None
        if os.fstat(file.fileno()).st_nlink == 0:
            raise RunInUse(f"{folder} was being removed; try again")
        file.truncate(0)
        file.write(f"process {os.getpid()} on {socket.gethostname()}\n")
        file.flush()
        yield
