"""Writing files so that a crash leaves the old one or the new one, never half of one."""

import os
from pathlib import Path


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
