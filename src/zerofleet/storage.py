"""Files on disk: durable writes, waiting while the disk is full, package folders, the cache.

Writes are atomic: a crash or a full disk leaves the old file or the new one, never half of one.
While a run trains, a write that finds the disk full reports it, waits, and retries:

    disk = Disk(say=print)
    disk.write(lambda: write_whole(path, data))

Such a write may be tried several times, so it must be all or nothing.
"""

import errno
import hashlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from io import FileIO
from pathlib import Path

from platformdirs import user_cache_path

from zerofleet.errors import DiskFull, Unsupported

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""Error numbers of a full disk, an exhausted quota or a file size limit."""

RETRY_S = 5.0
POLL_S = 0.1
"""How often a waiting write checks whether the run stops."""


def packaged_folder(installed: str, in_checkout: str, what: str) -> Path:
    """A data folder of zerofleet, in the installed package or in the checkout."""
    package = Path(__file__).parent
    for folder in (package / installed, package.parents[1] / in_checkout):
        if folder.is_dir():
            return folder
    raise Unsupported(f"{package}: its {what} are missing; reinstall zerofleet")


def write_whole(path: Path, data: bytes) -> None:
    """Writes a file atomically: to a temporary beside it, synced, then renamed."""
    beside = path.with_name(path.name + ".new")
    try:
        with beside.open("wb", buffering=0) as file:
            write_all(file, data)
            os.fsync(file.fileno())
    except OSError as error:
        error.filename = error.filename or str(path)  # the error of a write names no file
        beside.unlink(missing_ok=True)
        raise
    beside.replace(path)
    sync_folder(path.parent)


def write_output(path: Path, data: bytes) -> None:
    """Writes a file that the user named, atomically unless it is a device or a pipe."""
    if path.is_file() or not path.exists():
        write_whole(path.resolve(), data)
    else:
        path.write_bytes(data)


class GrowingFile:
    """An append-only file. A piece that does not fit on the disk leaves no trace."""

    def __init__(self, path: Path) -> None:
        self._file = FileIO(path, "a")

    def write(self, piece: bytes) -> None:
        """Appends a piece; it is in the file when this returns."""
        end = self._file.seek(0, os.SEEK_END)
        try:
            write_all(self._file, piece)
        except OSError as error:
            error.filename = str(self._file.name)
            self._file.truncate(end)
            raise

    def truncate(self, size_bytes: int) -> None:
        self._file.truncate(size_bytes)

    def sync(self) -> None:
        """Flushes it to the disk itself (fsync)."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        self._file.close()


def write_all(file: FileIO, data: bytes) -> None:
    """Writes all bytes: a single write may be short."""
    left = memoryview(data)
    while left:
        left = left[file.write(left) :]


def sync_folder(folder: Path) -> None:
    """Makes a folder's entries durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


class Disk:
    """All writes of a run go through here, from any thread.

    Once `is_stopping` returns True, a write does not wait for space but raises DiskFull.
    """

    def __init__(
        self, say: Callable[[str], None] = print, is_stopping: Callable[[], bool] = lambda: False
    ) -> None:
        self.on_full: Callable[[], None] = lambda: None
        """Called when a thread starts to wait."""
        self._say = say
        self._is_stopping = is_stopping
        self._waiting: set[int] = set()
        """Threads that wait for space."""

    @property
    def is_full(self) -> bool:
        """Whether any thread waits for space."""
        return bool(self._waiting)

    def write(self, write: Callable[[], object]) -> None:
        """Calls `write`, and retries it while the disk is full."""
        thread = threading.get_ident()
        try:
            while (fault := no_room_for(write)) is not None:
                if self._is_stopping():
                    raise DiskFull(
                        f"ended while the disk was full: {fault}; free some space, and the same "
                        "command resumes from what was written"
                    )
                if thread not in self._waiting:
                    self._waiting.add(thread)
                    self.on_full()
                    self._say(f"paused: {fault}; trying again every {RETRY_S:g} s")
                self._pause()
        finally:
            self._waiting.discard(thread)

    def _pause(self) -> None:
        end_s = time.monotonic() + RETRY_S
        while time.monotonic() < end_s and not self._is_stopping():
            time.sleep(POLL_S)


def no_room_for(write: Callable[[], object]) -> Exception | None:
    """Calls `write`; returns the error if the disk is full."""
    try:
        write()
    except DiskFull as fault:
        return fault
    except OSError as fault:
        if fault.errno not in NO_ROOM:
            raise
        return fault
    return None


def cache_folder() -> Path:
    """$ZEROFLEET_CACHE, else zerofleet/ in the user's cache folder."""
    own = os.environ.get("ZEROFLEET_CACHE")
    return Path(own).absolute() if own else user_cache_path("zerofleet", appauthor=False)


def key_of(texts: Iterable[str], *packages: Path) -> str:
    """A cache key: a hash of the texts and of every source file of the packages."""
    sources = [path for package in packages for path in sorted(package.glob("*.py"))]
    parts = [*(text.encode() for text in texts), *(path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def put_in_cache(path: Path, data: bytes) -> None:
    """Writes a cache entry atomically: other processes may read or write the same one."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
