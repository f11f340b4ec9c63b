"""Packs: a run as files of bounded size, to carry it to another machine.

    c4.pack.json    the list: which run it is, and the size and SHA-256 of each part
    c4.pack-0001    the parts: together one compressed tar of the run folder
    c4.pack-0002

The list is written last, so a pack without it was never finished. Unpacking checks every part
before anything is written, takes plain files only, and puts the run in place when all is there.
"""

import hashlib
import shutil
import tarfile
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from io import RawIOBase
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadBytes, BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.files import write_whole
from zerofleet.run_folders import Run, check_name, read_run, runs_folder
from zerofleet.run_lock import LOCK, locked

FORMAT = 1
LIST_ENDING = ".pack.json"
DEFAULT_PART_BYTES = 16 << 20
LEAST_PART_BYTES = 1 << 16
LEFT_OUT = {LOCK, "tensorboard", "wandb"}
"""What a run can make again, or what means nothing elsewhere."""


class Part(BaseModel):
    """One of the numbered files."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    num_bytes: int = Field(ge=0)
    sha256: str


class PackList(BaseModel):
    """What NAME.pack.json holds."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int
    run: str
    unpacked_bytes: int = Field(ge=0)
    parts: list[Part]


# ---- packing


def pack(
    run: Run,
    folder: Path,
    max_bytes: int = DEFAULT_PART_BYTES,
    leave_out: Collection[Path] = (),
) -> list[Path]:
    """Writes a run that no process has into files of at most so many bytes; the list comes first.

    Files of the run in `leave_out` stay behind.
    """
    if max_bytes < LEAST_PART_BYTES:
        raise BadText(f"a part must have at least {LEAST_PART_BYTES} bytes, got {max_bytes}")
    list_path = folder / f"{run.name}{LIST_ENDING}"
    if list_path.exists():
        raise Inconsistent(f"{list_path} exists already; remove that pack, or pack elsewhere")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Inconsistent(f"{folder} cannot be made: {error.strerror}") from None
    writer = PartWriter(list_path, max_bytes)
    try:
        with locked(run.folder), writer:
            files = [path for path in wanted_files(run.folder) if path not in leave_out]
            with tarfile.open(mode="w|gz", fileobj=writer) as tar:
                for path in files:
                    tar.add(path, str(path.relative_to(run.folder)), filter=without_owner)
        pack_list = PackList(
            format=FORMAT,
            run=run.name,
            unpacked_bytes=sum(path.stat().st_size for path in files),
            parts=[part_of(path) for path in writer.paths],
        )
        write_whole(list_path, f"{pack_list.model_dump_json(indent=1)}\n".encode())
    except BaseException:
        for path in writer.paths:
            path.unlink()
        raise
    return [list_path, *writer.paths]


def wanted_files(folder: Path) -> Iterator[Path]:
    """The files of a run that belong in a pack, in order of name."""
    for path in sorted(folder.rglob("*")):
        if path.relative_to(folder).parts[0] in LEFT_OUT or path.suffix == ".new":
            continue
        if path.is_symlink():
            raise Inconsistent(f"{path} is a link; a pack takes plain files and folders only")
        if path.is_file():
            yield path


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Who owned a file here means nothing elsewhere."""
    return member.replace(uid=0, gid=0, uname="", gname="", mode=0o644, deep=False)


class PartWriter(RawIOBase):
    """Bytes that go into numbered files, a new one whenever one is full."""

    def __init__(self, list_path: Path, max_bytes: int) -> None:
        self.paths: list[Path] = []
        self._list_path = list_path
        self._max_bytes = max_bytes
        self._room = 0
        self._file: BinaryIO

    def writable(self) -> bool:
        return True

    def write(self, data: bytes) -> int:  # type: ignore[override]
        left = memoryview(data)
        while left:
            if self._room == 0:
                self._begin_part()
            now = left[: self._room]
            self._file.write(now)
            self._room -= len(now)
            left = left[len(now) :]
        return len(data)

    def close(self) -> None:
        if self.paths:
            self._file.close()
        super().close()

    def _begin_part(self) -> None:
        if self.paths:
            self._file.close()
        path = part_path(self._list_path, len(self.paths) + 1)
        self._file = path.open("wb")
        self.paths.append(path)
        self._room = self._max_bytes


# ---- unpacking


def unpack(list_path: Path, name: str | None = None) -> Run:
    """Makes the run of a pack, given by its list, under its own or another name."""
    pack_list = read_list(list_path)
    paths = checked_parts(list_path, pack_list.parts)
    folder = runs_folder() / check_name(name or pack_list.run)
    if folder.exists():
        raise Inconsistent(f"{folder} exists already; unpack under another name")
    beside = runs_folder() / f".unpacking-{uuid.uuid4().hex}"
    beside.mkdir(parents=True)
    try:
        extract(paths, beside, pack_list.unpacked_bytes, list_path)
        read_run(beside)
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside)
        raise
    return read_run(folder)


def read_list(path: Path) -> PackList:
    if not path.name.endswith(LIST_ENDING):
        raise BadText(f"{path} is not the list of a pack; give the file that ends in {LIST_ENDING}")
    try:
        pack_list = PackList.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadText(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise BadBytes(f"{path} is damaged, or not the list of a pack") from None
    if pack_list.format != FORMAT:
        raise Unsupported(f"{path} has format {pack_list.format}; this zerofleet reads {FORMAT}")
    return pack_list


def checked_parts(list_path: Path, parts: Sequence[Part]) -> list[Path]:
    """The parts of a pack, all there and as they were written."""
    paths = [part_path(list_path, number) for number in range(1, len(parts) + 1)]
    missing = [path.name for path in paths if not path.exists()]
    if missing:
        raise BadBytes(
            f"{list_path}: {len(missing)} of {len(parts)} parts missing: {', '.join(missing)}"
        )
    for path, expected in zip(paths, parts, strict=True):
        got = part_of(path)
        if got != expected:
            raise BadBytes(
                f"{path} is damaged: sha256 differs from {list_path.name} (got {got.sha256[:8]}… "
                f"of {got.num_bytes} bytes, expected {expected.sha256[:8]}… of "
                f"{expected.num_bytes})"
            )
    return paths


def extract(paths: Sequence[Path], folder: Path, max_bytes: int, list_path: Path) -> None:
    """Writes the plain files of a pack under a folder, and nothing outside it."""
    try:
        with tarfile.open(mode="r|gz", fileobj=PartReader(paths)) as tar:
            for member in tar:
                name = PurePosixPath(member.name)
                if not member.isreg() or name.is_absolute() or ".." in name.parts:
                    raise BadBytes(f"{list_path}: {member.name} is no plain file inside the run")
                max_bytes -= member.size
                if max_bytes < 0:
                    raise TooLarge(f"{list_path}: the pack holds more than it says")
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                source = tar.extractfile(member)
                assert source is not None  # it is a plain file
                with target.open("xb") as file:
                    shutil.copyfileobj(source, file)
    except (tarfile.TarError, zlib.error, EOFError) as error:
        raise BadBytes(f"{list_path}: its parts do not make a run: {error}") from None


class PartReader(RawIOBase):
    """The bytes of several files, one after another."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._parts = (memoryview(path.read_bytes()) for path in paths)
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._left = self._left or next(self._parts, self._left)
        now, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(now)] = now
        return len(now)


def part_path(list_path: Path, number: int) -> Path:
    return list_path.with_name(f"{list_path.name.removesuffix('.json')}-{number:04d}")


def part_of(path: Path) -> Part:
    """What the list says of a file."""
    with path.open("rb") as file:
        return Part(
            num_bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest()
        )
