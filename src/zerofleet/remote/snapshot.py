"""The files of a run at one moment, kept while the run trains on.

A snapshot is a folder of hard links: a file that training replaces or deletes stays in it, and of
a file that only grows, such as a log, it has the length of that moment. It is cut into parts with a
SHA-256 each; parts of files that have not changed are hashed once.
"""

import hashlib
import os
import shutil
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from zerofleet.runs.packs import wanted_files

PART_BYTES = 16 << 20
"""Files are cut at multiples of this: of a file that grows, the parts before its last stay the
same."""


@dataclass(frozen=True)
class FileFacts:
    """A file of a snapshot."""

    path: str
    """In the run folder, with slashes."""
    num_bytes: int
    identity: tuple[int, int, int]
    """Device, inode and time of the last write."""


@dataclass(frozen=True)
class Snapshot:
    """A folder of links and what it holds."""

    folder: Path
    files: list[FileFacts]

    @property
    def step(self) -> int:
        """Of the newest checkpoint; 0 before the first."""
        checkpoints = [
            Path(each.path) for each in self.files if each.path.startswith("checkpoints/")
        ]
        steps = (path.stem for path in checkpoints if path.suffix == ".json")
        return max((int(step) for step in steps if step.isdecimal()), default=0)

    def parts(self, file: FileFacts) -> Iterator[bytes]:
        """The contents of a file, cut into parts."""
        with (self.folder / file.path).open("rb") as source:
            left = file.num_bytes
            while left > 0:
                part = source.read(min(PART_BYTES, left))
                if not part:
                    raise EOFError(f"{file.path} became shorter while it was uploaded")
                left -= len(part)
                yield part

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def take_snapshot(run_folder: Path, into: Path) -> Snapshot:
    """Links the files of a run in a new folder within `into`, which is on the same disk.

    Checkpoints and weights must not be written meanwhile; logs may grow.
    """
    folder = into / uuid.uuid4().hex
    folder.mkdir(parents=True)
    files = []
    try:
        for path in wanted_files(run_folder):
            relative = path.relative_to(run_folder)
            link = folder / relative
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                os.link(path, link)
            except FileNotFoundError:
                continue  # deleted meanwhile
            found = link.stat()
            identity = (found.st_dev, found.st_ino, found.st_mtime_ns)
            files.append(FileFacts(relative.as_posix(), found.st_size, identity))
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return Snapshot(folder, files)


@dataclass
class PartHashes:
    """The SHA-256 of the parts of files, remembered while a file is the same."""

    _known: dict[str, tuple[FileFacts, list[str]]] = field(default_factory=dict)

    def of(self, snapshot: Snapshot, file: FileFacts) -> list[str]:
        known = self._known.get(file.path)
        if known is None or known[0] != file:
            hashes = [hashlib.sha256(part).hexdigest() for part in snapshot.parts(file)]
            self._known[file.path] = known = (file, hashes)
        return known[1]
