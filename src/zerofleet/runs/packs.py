"""Packs: a run as files of bounded size, to carry it to another machine.

    c4.pack.json    the list: which run it is, and the size and SHA-256 of each part
    c4.pack-0001    the parts: together one compressed tar of the run folder
    c4.pack-0002

The list is written last, so a pack without it was never finished. Unpacking checks every part
before anything is written, takes plain files only and no more bytes than its own limit, and puts
the run in place when all is there. A pack may be anyone's: the run is marked as unpacked, and what
it names is not executed before its user has named it too; see zerofleet.runs.game.
"""

import errno
import hashlib
import shutil
import tarfile
import uuid
import zlib
from collections.abc import Collection, Iterator, Sequence
from io import RawIOBase
from pathlib import Path, PurePosixPath
from typing import IO, BinaryIO, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet.errors import BadBytes, BadText, Inconsistent, TooLarge, Unsupported
from zerofleet.runs.folder import FACTS, UNPACKED, Run, check_name, read_run, runs_folder
from zerofleet.runs.lock import LOCK, undisturbed
from zerofleet.storage import write_whole

FORMAT = 1
LIST_ENDING = ".pack.json"
DEFAULT_PART_BYTES = 16 << 20
LEAST_PART_BYTES = 1 << 16
DEFAULT_UNPACKED_BYTES = 16 << 30
"""Four times what the log of games takes by default."""
LEAST_FILE_BYTES = 1 << 12
"""What the smallest file takes of a disk."""
CHUNK_BYTES = 1 << 20
"""Read at a time."""
MAX_HEADER_BYTES = 1 << 16
"""Of what a tar says of one file: its name, mostly."""
LEFT_OUT = {LOCK, UNPACKED, "tensorboard", "wandb"}
"""What a run can make again, or what means nothing elsewhere: no pack holds it."""


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
        with undisturbed(run.folder), writer:
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


def unpack(
    list_path: Path, name: str | None = None, max_bytes: int = DEFAULT_UNPACKED_BYTES
) -> Run:
    """Makes the run of a pack, given by its list, under its own or another name.

    It takes at most so many bytes of the disk, and never more than are free there.
    """
    pack_list = read_list(list_path)
    paths = checked_parts(list_path, pack_list.parts)
    folder = runs_folder() / check_name(name or pack_list.run)
    if folder.exists():
        raise Inconsistent(f"{folder} exists already; unpack under another name")
    beside = runs_folder() / f".unpacking-{uuid.uuid4().hex}"
    beside.mkdir(parents=True)
    try:
        limit = disk_limit(list_path, pack_list, beside, max_bytes)
        extract(paths, beside, pack_list.unpacked_bytes, limit // LEAST_FILE_BYTES, list_path)
        if not (beside / FACTS).is_file():
            raise BadBytes(f"{list_path}: the pack holds no {FACTS}, so it is not of a run")
        read_run(beside)
        write_whole(beside / UNPACKED, f"from {list_path.name}\n".encode())
        beside.rename(folder)
    except BaseException:
        shutil.rmtree(beside)
        raise
    return read_run(folder)


def disk_limit(list_path: Path, pack_list: PackList, folder: Path, max_bytes: int) -> int:
    """The bytes that a run may take of the disk, which must be enough for what its pack claims."""
    free_bytes = shutil.disk_usage(folder).free
    claim = f"{list_path} says that it holds {pack_list.unpacked_bytes:,} bytes"
    if pack_list.unpacked_bytes > max_bytes:
        raise TooLarge(f"{claim}; {max_bytes:,} are allowed, and --max-bytes allows more")
    if pack_list.unpacked_bytes > free_bytes:
        raise TooLarge(f"{claim}; {folder.parent} has room for {free_bytes:,}")
    return min(max_bytes, free_bytes)


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


def extract(
    paths: Sequence[Path], folder: Path, max_bytes: int, max_names: int, list_path: Path
) -> None:
    """Writes the plain files of a pack under a folder, and nothing outside it.

    What is written is counted, whatever the pack says of its size: bytes, and names of files and
    folders.
    """
    try:
        with tarfile.open(mode="r|gz", fileobj=PartReader(paths), tarinfo=Member) as tar:
            for member in tar:
                name = plain_name(member, list_path)
                max_names -= len(name.parts)
                if max_names < 0:
                    raise TooLarge(f"{list_path}: the pack holds too many files")
                source = tar.extractfile(member)
                assert source is not None  # it is a plain file
                max_bytes -= write_file(source, folder / name, max_bytes, list_path)
    except (tarfile.TarError, zlib.error, EOFError, RecursionError) as error:
        raise BadBytes(f"{list_path}: its parts do not make a run: {error}") from None


class Member(tarfile.TarInfo):
    """What a tar says of a file. The parts that it has of unusual ones are read into memory, so
    large ones are refused, and so are maps of sparse files, whose size no header says."""

    @classmethod
    def frombuf(cls, buf: bytes | bytearray, encoding: str, errors: str) -> Self:
        member = super().frombuf(buf, encoding, errors)
        if member.type == tarfile.GNUTYPE_SPARSE:
            raise BadBytes("a tar with a sparse file is no pack")
        if member.type not in tarfile.REGULAR_TYPES and member.size > MAX_HEADER_BYTES:
            raise BadBytes(f"a tar with a header of {member.size:,} bytes is no pack")
        return member

    def _proc_gnusparse_10(self, *_: object) -> None:
        """Where Python would read the map of a sparse file, however long it is."""
        raise BadBytes("a tar with a sparse file is no pack")


def plain_name(member: tarfile.TarInfo, list_path: Path) -> PurePosixPath:
    """Where a member goes, inside the run."""
    name = PurePosixPath(member.name)
    is_inside = name.parts and not name.is_absolute() and ".." not in name.parts
    is_plain = member.isreg() and not member.issparse()
    if not is_plain or not is_inside or "\0" in member.name or name.parts[0] in LEFT_OUT:
        raise BadBytes(f"{list_path}: {member.name!r} is no plain file inside the run")
    return name


def write_file(source: IO[bytes], target: Path, max_bytes: int, list_path: Path) -> int:
    """Writes a new file of at most so many bytes; gives how many it has."""
    num_bytes = 0
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        with target.open("xb") as file:
            while chunk := source.read(CHUNK_BYTES):
                num_bytes += len(chunk)
                if num_bytes > max_bytes:
                    raise TooLarge(f"{list_path}: the pack holds more than it says")
                file.write(chunk)
    except (FileExistsError, NotADirectoryError):
        raise BadBytes(f"{list_path}: {target.name} is there twice, or in a file") from None
    except OSError as error:
        if error.errno != errno.ENAMETOOLONG:
            raise
        raise BadBytes(f"{list_path}: {target.name[:20]}… is too long a name") from None
    return num_bytes


class PartReader(RawIOBase):
    """The bytes of several files, one after another."""

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
    """What the list says of a file."""
    with path.open("rb") as file:
        return Part(
            num_bytes=path.stat().st_size, sha256=hashlib.file_digest(file, "sha256").hexdigest()
        )
