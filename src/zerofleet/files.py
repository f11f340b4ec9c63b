"""Files: those that belong to zerofleet, and writing so that a crash leaves the old one or the new
one, never half of one."""

import os
from pathlib import Path

from zerofleet.errors import Unsupported


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
    with beside.open("wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    beside.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Makes the names in a folder durable."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
