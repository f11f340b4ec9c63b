"""The spool: a worker's finished games on its disk until the trainer has logged them.

Each start of a worker appends to its own spool; the next start sends what older spools still hold,
under their original senders. A spool belongs to a run's id, not to its name.

    $ZEROFLEET_SPOOL/RUN_ID/INCARNATION/spool.json     who sends, of which run
                                        lock           held as long as a process has it open
                                        NUMBER.games   records, the first of which has that number

    record:  "ZFSR" | episode length u32 | rows u32 | number u64 | CRC of the episode u32 |
             CRC of the fields before u32 | episode           (little-endian; CRC-32)

A game survives the death of the process once `append` has returned, and the death of the machine
once `sync` has. A torn record at the end is truncated. Other damage is reported, and intact games
after it are still sent; a lost game is sent without bytes, so that the trainer counts its number as
done. A file is deleted when the trainer has all its games.
"""

import json
import os
import re
import struct
import time
from array import array
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from io import FileIO
from itertools import pairwise
from pathlib import Path
from zlib import crc32

from platformdirs import user_state_path

from zerofleet.bus import Sender
from zerofleet.errors import BadBytes, BadText, DiskFull, ZerofleetError
from zerofleet.replay import LogInUse
from zerofleet.replay.log import lock
from zerofleet.storage import NO_ROOM, GrowingFile, sync_folder, write_whole

FORMAT = 1
MAGIC = b"ZFSR"
HEADER = struct.Struct("<4sIIQI")
CRC = struct.Struct("<I")
HEADER_BYTES = HEADER.size + CRC.size
FACTS = "spool.json"
RUN_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}", re.ASCII)


class Segment:
    """A file of a spool: where the games of consecutive numbers lie in it."""

    def __init__(self, path: Path, first: int) -> None:
        self.path = path
        self.first = first
        self.num_bytes = 0
        """Of the file, where it grows."""
        self._starts = array("Q")
        self._lengths = array("I")
        self._rows = array("I")

    @property
    def end(self) -> int:
        """The number after its last."""
        return self.first + len(self._starts)

    def add(self, start: int, length: int, num_rows: int) -> None:
        """The next number's episode. A length of 0: it is lost."""
        self._starts.append(start)
        self._lengths.append(length)
        self._rows.append(num_rows)

    def size(self, first: int, end: int) -> tuple[int, int]:
        """Rows of the games first…end-1, and bytes of their records."""
        games = slice(first - self.first, end - self.first)
        return sum(self._rows[games]), (end - first) * HEADER_BYTES + sum(self._lengths[games])

    def read(self, first: int, max_count: int, max_bytes: int) -> list[bytes]:
        """Games from a number on: at least one, then as many as the bounds allow."""
        with FileIO(self.path) as file:
            episodes: list[bytes] = []
            for at in range(first - self.first, len(self._starts))[:max_count]:
                max_bytes -= self._lengths[at]
                if episodes and max_bytes < 0:
                    break
                episodes.append(os.pread(file.fileno(), self._lengths[at], self._starts[at]))
            return episodes


class Spool:
    """The games of one sender that are on disk, for one thread at a time."""

    def __init__(self, folder: Path, sender: Sender, held: FileIO) -> None:
        self.folder = folder
        self.sender = sender
        self.faults: list[str] = []
        """A sentence for each damage that was found."""
        self.num_unconfirmed = self.unconfirmed_rows = self.unconfirmed_bytes = 0
        self._lock = held
        self._segments: list[Segment] = []
        self._confirmed = 0

    @property
    def first(self) -> int:
        """The lowest number that is not confirmed."""
        return self._confirmed

    @property
    def end(self) -> int:
        """The number that the next game gets."""
        return self._segments[-1].end if self._segments else self._confirmed

    def read(self, first: int, max_count: int, max_bytes: int) -> list[bytes]:
        """Games from an unconfirmed number on: at least one, then as many as the bounds allow."""
        segment = next(each for each in self._segments if first < each.end)
        return segment.read(first, max_count, max_bytes)

    def confirm(self, mark: int) -> int:
        """Forgets the games below a mark; returns how many of them are new."""
        before = self._confirmed
        for segment in self._segments:
            end = min(mark, segment.end)
            if self._confirmed < end:
                self._count(segment, self._confirmed, end, -1)
                self._confirmed = end
        while len(self._segments) > 1 and self._segments[0].end <= self._confirmed:
            self._segments.pop(0).path.unlink()
        return self._confirmed - before

    def close(self) -> None:
        """Lets others open it. A spool without unconfirmed games is removed."""
        if self.num_unconfirmed == 0:
            # spool.json first: a spool without it has no owner.
            names = [FACTS, *(each.path.name for each in self._segments), "lock"]
            for name in names:
                (self.folder / name).unlink(missing_ok=True)
            with suppress(OSError):  # another process may be looking at its lock
                self.folder.rmdir()
        self._lock.close()

    def _count(self, segment: Segment, first: int, end: int, sign: int) -> None:
        rows, num_bytes = segment.size(first, end)
        self.num_unconfirmed += sign * (end - first)
        self.unconfirmed_rows += sign * rows
        self.unconfirmed_bytes += sign * num_bytes


class GrowingSpool(Spool):
    """The spool of this start of a worker."""

    def __init__(
        self, root: Path, run_id: str, sender: Sender, segment_bytes: int, fsync_interval_s: float
    ) -> None:
        folder = run_folder(root, run_id) / f"{sender.incarnation:016x}"
        with refusing_when_full(folder):
            folder.mkdir(parents=True)
            super().__init__(folder, sender, lock(folder))
            facts = {"format": FORMAT, "run": run_id, **sender._asdict()}
            write_whole(folder / FACTS, (json.dumps(facts) + "\n").encode())
        self._segment_bytes = segment_bytes
        self._fsync_interval_s = fsync_interval_s
        self._synced_at_s = time.monotonic()
        self._files: list[GrowingFile] = []
        """Those not synced since they ended, then the one that grows."""
        self._is_dirty = False

    def append(self, episodes: Sequence[tuple[bytes, int]]) -> None:
        """Writes games with their numbers of rows, all or none. DiskFull: none."""
        newest = self._segments[-1] if self._segments else None
        with refusing_when_full(self.folder):
            if newest is None or newest.num_bytes >= self._segment_bytes:
                path = self.folder / f"{self.end:020d}.games"
                self._files.append(GrowingFile(path))
                newest = Segment(path, self.end)
                self._segments.append(newest)
            records = [encode_record(newest.end + i, *each) for i, each in enumerate(episodes)]
            self._files[-1].write(b"".join(records))
        self._is_dirty = True
        for record, (episode, num_rows) in zip(records, episodes, strict=True):
            newest.add(newest.num_bytes + HEADER_BYTES, len(episode), num_rows)
            newest.num_bytes += len(record)
        self._count(newest, newest.end - len(episodes), newest.end, 1)

    @property
    def sync_is_due(self) -> bool:
        """Whether something was written, and the last fsync was longer ago than the interval."""
        return self._is_dirty and time.monotonic() - self._synced_at_s >= self._fsync_interval_s

    def sync(self) -> None:
        """Flushes what was appended to the disk itself (fsync). Another thread may append
        meanwhile."""
        self._is_dirty = False
        self._synced_at_s = time.monotonic()
        files = self._files.copy()
        with refusing_when_full(self.folder):
            for file in files:
                file.sync()
            sync_folder(self.folder)
        for file in files[:-1]:  # the last may still grow
            self._files.remove(file)
            file.close()

    def close(self) -> None:
        try:
            if self._is_dirty:
                self.sync()
        finally:
            for file in self._files:
                file.close()
            super().close()


class OlderSpool(Spool):
    """What an earlier start of a worker left behind. The caller holds its lock."""

    def __init__(self, folder: Path, run_id: str, held: FileIO) -> None:
        super().__init__(folder, sender_of(folder, run_id), held)
        paths = sorted(folder.glob("[0-9]" * 20 + ".games"))
        self._segments = [Segment(path, int(path.stem)) for path in paths]
        self._confirmed = self._segments[0].first if self._segments else 0
        for segment in self._segments:
            self._recover(segment)
        for segment, following in pairwise(self._segments):
            self._count_as_lost(segment, following.first, f"{segment.path}: its end is missing")
        for segment in self._segments:
            self._count(segment, segment.first, segment.end, 1)

    def _recover(self, segment: Segment) -> None:
        """Finds the whole records of a file, and truncates a torn one at the end of the newest."""
        data = segment.path.read_bytes()
        start = 0
        while start < len(data):
            if segment is self._segments[-1] and is_torn(data, start):
                os.truncate(segment.path, start)
                return
            whole = next_record(data, start)
            if whole is None:
                self.faults.append(
                    f"{segment.path}: the record at byte {start} is damaged; the last "
                    f"{len(data) - start} bytes are skipped"
                )
                return
            number, num_rows, at, end = whole
            if number >= segment.end:  # else a copy of one before
                fault = f"{segment.path}: the record at byte {start} is damaged"
                self._count_as_lost(segment, number, fault)
                segment.add(at, end - at, num_rows)
            start = end

    def _count_as_lost(self, segment: Segment, end: int, fault: str) -> None:
        """The numbers that a file lacks before `end`."""
        if segment.end < end:
            self.faults.append(f"{fault}; lost are games {segment.end} to {end - 1}")
        while segment.end < end:
            segment.add(0, 0, 0)


def older_spools(root: Path, run_id: str) -> tuple[list[Spool], list[str]]:
    """The spools of earlier starts that no process has open, and what is wrong with others."""
    spools: list[Spool] = []
    faults = []
    parent = run_folder(root, run_id)
    for folder in sorted(path.parent for path in parent.glob(f"*/{FACTS}")):
        try:
            held = lock(folder)
        except (LogInUse, FileNotFoundError):
            continue  # it lives, or its owner has just removed it
        if not (folder / FACTS).exists():
            held.close()
            continue
        try:
            spools.append(OlderSpool(folder, run_id, held))
            faults += spools[-1].faults
        except ZerofleetError as fault:
            held.close()
            faults.append(f"{fault}; it is left as it is")
    return spools, faults


def spool_root() -> Path:
    """$ZEROFLEET_SPOOL, else zerofleet/spool in the user's state folder."""
    own = os.environ.get("ZEROFLEET_SPOOL")
    if own:
        return Path(own).absolute()
    return user_state_path("zerofleet", appauthor=False) / "spool"


def run_folder(root: Path, run_id: str) -> Path:
    """Where the spools of a run lie. The id comes from elsewhere: it must be a plain name."""
    if not RUN_ID.fullmatch(run_id):
        raise BadText(f"run id {run_id!r}: must be letters, digits, - and _, at most 100")
    return root / run_id


def sender_of(folder: Path, run_id: str) -> Sender:
    """Who sends the games of a spool of this run."""
    path = folder / FACTS
    try:
        facts = json.loads(path.read_bytes())
        if facts["format"] != FORMAT:
            raise BadBytes(f"{path}: format {facts['format']}; this build reads {FORMAT}")
        if facts["run"] != run_id:
            raise BadBytes(f"{path}: of run {facts['run']}, not of {run_id}")
        return Sender(str(facts["worker"]), int(facts["incarnation"]))
    except (ValueError, KeyError, TypeError) as error:
        if isinstance(error, BadBytes):
            raise
        raise BadBytes(f"{path} is damaged: {error}") from None


# ---- records


def encode_record(number: int, episode: bytes, num_rows: int) -> bytes:
    head = HEADER.pack(MAGIC, len(episode), num_rows, number, crc32(episode))
    return head + CRC.pack(crc32(head)) + episode


def next_record(data: bytes, start: int) -> tuple[int, int, int, int] | None:
    """Number, rows, first byte of the episode and the byte behind it, of the first whole record
    from byte `start` on."""
    while (start := data.find(MAGIC, start)) >= 0:
        at = start + HEADER_BYTES
        if header_is_whole(data, start):
            _, length, num_rows, number, crc = HEADER.unpack_from(data, start)
            if at + length <= len(data) and crc == crc32(data[at : at + length]):
                return number, num_rows, at, at + length
        start += 1
    return None


def is_torn(data: bytes, start: int) -> bool:
    """Whether the data ends within the record at byte `start`."""
    if start + HEADER_BYTES > len(data):
        return True
    length = HEADER.unpack_from(data, start)[1]
    return header_is_whole(data, start) and start + HEADER_BYTES + length > len(data)


def header_is_whole(data: bytes, start: int) -> bool:
    at = start + HEADER.size
    return at + CRC.size <= len(data) and data[at : at + CRC.size] == CRC.pack(
        crc32(data[start:at])
    )


@contextmanager
def refusing_when_full(folder: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno not in NO_ROOM:
            raise
        raise DiskFull(f"{error.filename or folder}: {error.strerror}; free some space") from error
