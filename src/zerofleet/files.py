"""Files: those that belong to zerofleet, and writing so that a crash or a full disk leaves the old
one or the new one, never half of one."""

import errno
import os
from io import FileIO
from pathlib import Path

from zerofleet.errors import Unsupported

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says where a disk is full, or all of it that one may use."""


def own_folder(installed: str, in_checkout: str, what: str) -> Path:
    """A folder that belongs to zerofleet: in the package, or in the checkout that it runs from."""
    package = Path(__file__).parent
    for folder in (package / installed, package.parents[1] / in_checkout):
        if folder.is_dir():
            return folder
    raise Unsupported(f"{package}: the {what} that belong to it are missing; install it again")


def write_whole(path: Path, data: bytes) -> None:
    """Writes beside the file, makes it durable, then puts it in place."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb", buffering=0) as file:
            write_all(file, data)
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)  # a write does not say which file it was for
        beside.unlink(missing_ok=True)
        raise
    beside.replace(path)
    sync_folder(path.parent)


def write_output(path: Path, data: bytes) -> None:
    """Writes a file that a user named, whole or not at all; a device or a pipe gets the bytes."""
    if path.is_file() or not path.exists():
        write_whole(path.resolve(), data)
    else:
        path.write_bytes(data)


class GrowingFile:
    """A file that is only appended to, by whole pieces: of one that has no room nothing is left."""

    def __init__(self, path: Path) -> None:
        self._file = FileIO(path, "a")

    def write(self, piece: bytes) -> None:
        """It is in the file when this returns."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            write_all(self._file, piece)
        except OSError as error:
            error.filename = str(self._file.name)
            self._file.truncate(end)
            raise

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def close(self) -> None:
        self._file.close()


def write_all(file: FileIO, data: bytes) -> None:
    """A single write may take less than it is given."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
