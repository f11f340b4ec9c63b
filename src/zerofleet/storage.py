"""What zerofleet keeps on disk: durable writes, a disk that may be full, its own folders, a cache.

A crash or a full disk leaves the old file or the new one, never half of one. While a run trains,
whoever finds no room waits, says so, and resumes by itself:

    disk = Disk(say=print)
    disk.write(lambda: write_whole(path, data))

What is written so may be tried several times, so it must be there whole or not at all.
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
"""What the system says where a disk is full, or all of it that one may use."""

RETRY_S = 5.0
LOOK_S = 0.1
"""How often whoever waits looks whether the run is to end."""


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


class Disk:
    """What a run writes goes through here, from any of its threads.

    While `wants_end` says that a person wants the run to end, nobody waits: DiskFull is raised.
    `on_full` is called when somebody begins to wait.
    """

    def __init__(
        self,
        say: Callable[[str], None] = print,
        wants_end: Callable[[], bool] = lambda: False,
        on_full: Callable[[], None] = lambda: None,
    ) -> None:
        self._say = say
        self._wants_end = wants_end
        self._on_full = on_full
        self._waiting: set[int] = set()
        """The threads that wait for room."""

    @property
    def is_full(self) -> bool:
        """Whether somebody waits for room."""
        return bool(self._waiting)

    def write(self, write: Callable[[], object]) -> None:
        """Calls it, again and again while it finds no room."""
        thread = threading.get_ident()
        try:
            while (fault := no_room_for(write)) is not None:
                if self._wants_end():
                    raise DiskFull(
                        f"ended while the disk was full: {fault}; free some space, and the same "
                        "command resumes from what was written"
                    )
                if thread not in self._waiting:
                    self._waiting.add(thread)
                    self._on_full()
                    self._say(f"paused: {fault}; trying again every {RETRY_S:g} s")
                self._pause()
        finally:
            self._waiting.discard(thread)

    def _pause(self) -> None:
        end_s = time.monotonic() + RETRY_S
        while time.monotonic() < end_s and not self._wants_end():
            time.sleep(LOOK_S)


def no_room_for(write: Callable[[], object]) -> Exception | None:
    """Writes. Where that finds no room, what it was told."""
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
    """$ZEROFLEET_CACHE, else zerofleet/ in the user's cache."""
    own = os.environ.get("ZEROFLEET_CACHE")
    return Path(own).absolute() if own else user_cache_path("zerofleet", appauthor=False)


def key_of(texts: Iterable[str], *packages: Path) -> str:
    """A name that changes with each of the texts, and with every source file of the packages."""
    sources = [path for package in packages for path in sorted(package.glob("*.py"))]
    parts = [*(text.encode() for text in texts), *(path.read_bytes() for path in sources)]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()[:32]


def put_in_cache(path: Path, data: bytes) -> None:
    """At once and whole: other processes may read it, or put it there too."""
    beside = path.with_name(f"{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        beside.write_bytes(data)
        beside.replace(path)
    except OSError:
        beside.unlink(missing_ok=True)
        raise
