"""Fills a disk."""

from contextlib import suppress
from pathlib import Path


def fill(disk: Path, left_bytes: int) -> Path:
    """Leaves so much room; gives what takes the rest."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        with suppress(OSError):
            while True:
                file.write(bytes(4096))
        file.truncate(file.tell() - left_bytes)
    return ballast
