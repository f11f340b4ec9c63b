"""Packs: a run as files of bounded size, to copy it to another machine.

    c4.pack.json    the list: the run's name, and size and SHA-256 of each part
    c4.pack-0001    the parts: together one compressed tar of the run folder
    c4.pack-0002

The list is written last, so a pack without it is incomplete. Unpacking verifies every part before
it writes anything, accepts regular files only, enforces its own size limit, and moves the run into
place at the end. A pack is not trusted: the run is marked as unpacked, and code that it names is
not executed until the user names it too; see zerofleet.runs.game.
"""

import errno
import hashlib
import shutil
import tarfile
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from io import BytesIO, RawIOBase
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadBytes, BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.replay.recovery import log_without_episodes
from zerofleet.runs.folder import (
    FACTS,
    REDIS,
    UNPACKED,
    Run,
    check_name,
    read_run,
    runs_folder,
)
from zerofleet.runs.lock import LOCK, locked_for_reading
from zerofleet.storage import write_whole

FORMAT = 1
LIST_ENDING = ".pack.json"
DEFAULT_PART_BYTES = 16 << 20
MIN_PART_BYTES = 1 << 16
DEFAULT_UNPACKED_BYTES = 16 << 30
"""Four times the default size of the episode log."""
MIN_FILE_BYTES = 1 << 12
"""Disk space of the smallest file."""
CHUNK_BYTES = 1 << 20
"""Bytes per read."""
MAX_HEADER_BYTES = 1 << 16
"""Limit of a tar member's metadata, mostly its name."""
S3_RECORD, S3_SNAPSHOTS = "s3.json", ".s3"
"""Of a run that is saved in S3 too; see zerofleet.remote."""
LEFT_OUT = {LOCK, REDIS, UNPACKED, S3_RECORD, S3_SNAPSHOTS, "refused", "tensorboard", "wandb"}
"""Not packed: it can be regenerated, or has no meaning elsewhere."""


class Part(BaseModel):
    """One of the numbered files."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    num_bytes: int = Field(ge=0)
    sha256: str


class PackList(BaseModel):
    """The contents of NAME.pack.json."""

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
    without_games: bool = False,
) -> list[Path]:
    """Packs a run that no process holds, with parts of at most `max_bytes`; returns the files, the
    list first. Files in `leave_out` are not packed.

    A pack `without_games` still holds what the log has counted: the unpacked run takes no game
    twice.
    """
    if max_bytes < MIN_PART_BYTES:
        raise BadText(f"a part must have at least {MIN_PART_BYTES} bytes, got {max_bytes}")
    list_path = folder / f"{run.name}{LIST_ENDING}"
    if list_path.exists():
        raise Inconsistent(f"{list_path} already exists; remove that pack, or pack elsewhere")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise Inconsistent(f"{folder} cannot be created: {error.strerror}") from None
    writer = PartWriter(list_path, max_bytes)
    try:
        with locked_for_reading(run.folder), writer:
            files = [path for path in wanted_files(run.folder) if path not in leave_out]
            num_bytes = 0
            if without_games:
                files = [path for path in files if not path.is_relative_to(run.episodes)]
            with tarfile.open(mode="w|gz", fileobj=writer) as tar:
                for path in files:
                    tar.add(path, str(path.relative_to(run.folder)), filter=without_owner)
                if without_games and (log := log_without_episodes(run.episodes)) is not None:
                    name, data = log
                    member = tarfile.TarInfo(str((run.episodes / name).relative_to(run.folder)))
                    member.size = num_bytes = len(data)
                    tar.addfile(member, BytesIO(data))
        pack_list = PackList(
            format=FORMAT,
            run=run.name,
            unpacked_bytes=num_bytes + sum(path.stat().st_size for path in files),
            parts=[part_of(path) for path in writer.paths],
        )
        write_whole(list_path, f"{pack_list.model_dump_json(indent=1)}\n".encode())
    except BaseException:
        for path in writer.paths:
            path.unlink()
        raise
    return [list_path, *writer.paths]


def wanted_files(folder: Path) -> Iterator[Path]:
    """The files of a run that belong in a pack, sorted by name. What is left out is not looked
    into: others may change it meanwhile."""
    tops = sorted(path for path in folder.iterdir() if path.name not in LEFT_OUT)
    for path in (path for top in tops for path in (top, *sorted(top.rglob("*")))):
        if path.suffix == ".new":
            continue
        if path.is_symlink():
            raise Inconsistent(f"{path} is a link; a pack holds regular files and folders only")
        if path.is_file():
            yield path


def without_owner(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Clears the owner, which has no meaning elsewhere."""
    return member.replace(uid=0, gid=0, uname="", gname="", mode=0o644, deep=False)


class PartWriter(RawIOBase):
    """Writes a stream into numbered files of bounded size."""

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


def unpack(
    list_path: Path, name: str | None = None, max_bytes: int = DEFAULT_UNPACKED_BYTES
) -> Run:
    """Unpacks the run of a pack, given by its list, under its own or another name.

    It takes at most `max_bytes` of disk, and never more than is free.
    """
    pack_list = read_list(list_path)
    paths = checked_parts(list_path, pack_list.parts)
    folder = runs_folder() / check_name(name or pack_list.run)
    if folder.exists():
        raise Inconsistent(f"{folder} already exists; unpack under another name")
    beside = runs_folder() / f".unpacking-{uuid.uuid4().hex}"
    beside.mkdir(parents=True)
    try:
        limit = disk_limit(list_path, pack_list, beside, max_bytes)
        extract(paths, beside, pack_list.unpacked_bytes, limit // MIN_FILE_BYTES, list_path)
        if not (beside / FACTS).is_file():
            raise BadBytes(f"{list_path}: the pack holds no {FACTS}, so it is not a run")
        read_run(beside)
        write_whole(beside / UNPACKED, f"from {list_path.name}\n".encode())
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside)
        raise
    return read_run(folder)


def disk_limit(list_path: Path, pack_list: PackList, folder: Path, max_bytes: int) -> int:
    """The disk space that a run may take; TooLarge if its pack declares more."""
    free_bytes = shutil.disk_usage(folder).free
    claim = f"{list_path} declares {pack_list.unpacked_bytes:,} bytes; "
    if pack_list.unpacked_bytes > max_bytes:
        raise TooLarge(f"{claim}{max_bytes:,} are allowed, and --max-bytes allows more")
    if pack_list.unpacked_bytes > free_bytes:
        raise TooLarge(f"{claim}{folder.parent} has {free_bytes:,} free")
    return min(max_bytes, free_bytes)


def read_list(path: Path) -> PackList:
    if not path.name.endswith(LIST_ENDING):
        raise BadText(f"{path} is not the list of a pack; give the file that ends in {LIST_ENDING}")
    try:
        pack_list = PackList.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadText(f"{path} cannot be read: {error.strerror}") from None
    except ValidationError:
        raise BadBytes(f"{path} is damaged or not the list of a pack") from None
    if pack_list.format != FORMAT:
        raise Unsupported(f"{path} has format {pack_list.format}; this zerofleet reads {FORMAT}")
    return pack_list


def checked_parts(list_path: Path, parts: Sequence[Part]) -> list[Path]:
    """The parts of a pack, after checking that all are present and intact."""
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


def extract(
    paths: Sequence[Path], folder: Path, max_bytes: int, max_names: int, list_path: Path
) -> None:
    """Writes the regular files of a pack under a folder, and nothing outside it.

    It counts the bytes and names that it writes, whatever size the pack declares.
    """
    try:
        with tarfile.open(mode="r|gz", fileobj=PartReader(paths), tarinfo=Member) as tar:
            for member in tar:
                name = plain_name(member, list_path)
                max_names -= len(name.parts)
                if max_names < 0:
                    raise TooLarge(f"{list_path}: the pack holds too many files")
                source = tar.extractfile(member)
                assert source is not None  # it is a regular file
                max_bytes -= write_file(source, folder / name, max_bytes, list_path)
    except (tarfile.TarError, zlib.error, EOFError, RecursionError) as error:
        raise BadBytes(f"{list_path}: its parts do not make a run: {error}") from None


class Member(tarfile.TarInfo):
    """A tar header. Extended headers are read into memory, so large ones are rejected, and so are
    sparse files, whose maps have no declared size."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise BadBytes("a pack holds no sparse files")
        if member.type not in tarfile.REGULAR_TYPES and member.size > MAX_HEADER_BYTES:
            raise BadBytes(f"a pack holds no tar header of {member.size:,} bytes")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Overrides the method that would read a sparse map of any length."""
        raise BadBytes("a pack holds no sparse files")


def plain_name(member: tarfile.TarInfo, list_path: Path) -> PurePosixPath:
    """The path of a member inside the run."""
    name = PurePosixPath(member.name)
    is_inside = name.parts and not name.is_absolute() and ".." not in name.parts
    is_regular = member.isreg() and not member.issparse()
    if not is_regular or not is_inside or "\0" in member.name or name.parts[0] in LEFT_OUT:
        raise BadBytes(f"{list_path}: {member.name!r} is not a regular file inside the run")
    return name


def write_file(source: IO[bytes], target: Path, max_bytes: int, list_path: Path) -> int:
    """Writes a new file of at most `max_bytes`; returns its size."""
    num_bytes = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while chunk := source.read(CHUNK_BYTES):
                num_bytes += len(chunk)
                if num_bytes > max_bytes:
                    raise TooLarge(f"{list_path}: the pack holds more than it declares")
                file.write(chunk)
    except (FileExistsError, NotADirectoryError):
        raise BadBytes(f"{list_path}: {target.name} is there twice, or inside a file") from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise BadBytes(f"{list_path}: the name {target.name[:20]}… is too long") from None
    return num_bytes


class PartReader(RawIOBase):
    """Reads several files as one stream."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._chunks = (chunk for path in paths for chunk in chunks_of(path))
        self._left = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        self._left = self._left or memoryview(next(self._chunks, b""))
        now, self._left = self._left[: len(buffer)], self._left[len(buffer) :]
        buffer[: len(now)] = now
        return len(now)


def chunks_of(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        while chunk := file.read(CHUNK_BYTES):
            yield chunk


def part_path(list_path: Path, number: int) -> Path:
    return list_path.with_name(f"{list_path.name.removesuffix('.json')}-{number:04d}")


def part_of(path: Path) -> Part:
    """The list's entry for a file."""
    with path.open("rb") as file:
        return Part(
            num_bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest()
        )
