"""The bytes of one segment: a file of the episode log.

Integers are little-endian; every CRC is a CRC-32.

    header:  "ZFL" | format u8 | JSON length u32 | CRC of the JSON and of all before it u32 | JSON
    record:  episode length u32 | rows u32 | worker u64 | sequence u64 | CRC of the episode u32 |
             CRC of the fields before u32 | episode

The JSON of a header says which game this is, how much was logged before this file, and which ids.
So the log still knows what it has counted after its oldest files are deleted. A record's header has
its own CRC: a record that ends too early is torn, anything else that is wrong is damage.

After damage, reading resumes at the next whole record: the magic of an episode, behind a header
whose CRCs both match and whose id is the episode's.
"""

import json
import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple
from zlib import crc32

from zerofleet.errors import BadBytes, Unsupported, ZerofleetError
from zerofleet.games import Episode

MAGIC = b"ZFL"
FORMAT = 2
FILE_HEADER = struct.Struct("<3sBI")
RECORD_HEADER = struct.Struct("<IIQQI")
CRC = struct.Struct("<I")
RECORD_HEADER_BYTES = RECORD_HEADER.size + CRC.size
EPISODE_MAGIC = b"ZFE"

Ranges = list[tuple[int, int]]
"""Half-open ranges of sequence numbers, ascending and disjoint."""


class SeenIds:
    """The ids of logged episodes, as ranges of sequence numbers per worker.

    A worker numbers its games from 0 and finishes most of them in order, so a few ranges stand for
    millions of ids.
    """

    def __init__(self) -> None:
        self._ranges: dict[int, Ranges] = {}

    def __contains__(self, episode_id: tuple[int, int]) -> bool:
        worker, sequence = episode_id
        ranges = self._ranges.get(worker, [])
        at = bisect_left(ranges, (sequence + 1, 0))
        return at > 0 and sequence < ranges[at - 1][1]

    def add(self, worker: int, first: int, end: int) -> None:
        """Adds first…end-1 and merges the ranges that they touch."""
        ranges = self._ranges.setdefault(worker, [])
        at = bisect_left(ranges, (first + 1, 0))
        if at > 0 and ranges[at - 1][1] >= first:
            at -= 1
        after = at
        while after < len(ranges) and ranges[after][0] <= end:
            first, end = min(first, ranges[after][0]), max(end, ranges[after][1])
            after += 1
        ranges[at:after] = [(first, end)]

    def to_json(self) -> dict[str, Ranges]:
        return {str(worker): ranges for worker, ranges in self._ranges.items()}

    def add_json(self, seen: dict[str, Ranges]) -> None:
        for worker, ranges in seen.items():
            for first, end in ranges:
                self.add(int(worker), first, end)


@dataclass(frozen=True)
class SegmentHeader:
    """The game of a segment, and all that was logged before it."""

    game: str
    options: dict[str, str]
    episodes_before: int
    rows_before: int
    ids_before: dict[str, Ranges]

    def encode(self) -> bytes:
        body = json.dumps(asdict(self), sort_keys=True).encode()
        head = FILE_HEADER.pack(MAGIC, FORMAT, len(body))
        return head + CRC.pack(crc32(body, crc32(head))) + body


class Record(NamedTuple):
    """Where an episode lies in a segment, and what its header says."""

    worker: int
    sequence: int
    num_rows: int
    start: int
    """First byte of the episode, after the record's header."""
    end: int


class Torn(BadBytes):
    """The file ends within a record: its writer was stopped."""


class Damaged(BadBytes):
    """The bytes differ from those that were written."""


def encode_record(episode: Episode, num_rows: int) -> bytes:
    body = episode.encode()
    head = RECORD_HEADER.pack(len(body), num_rows, episode.worker, episode.sequence, crc32(body))
    return head + CRC.pack(crc32(head)) + body


def read_header(data: bytes, name: str) -> tuple[SegmentHeader, int]:
    """The header of the file of that name, and the byte where its records begin."""
    body_start = FILE_HEADER.size + CRC.size
    if len(data) < body_start:
        raise Damaged(f"{name}: {len(data)} bytes, too few for its header")
    magic, version, length = FILE_HEADER.unpack_from(data)
    (crc,) = CRC.unpack_from(data, FILE_HEADER.size)
    end = body_start + length
    if magic != MAGIC or crc != crc32(data[body_start:end], crc32(data[: FILE_HEADER.size])):
        raise Damaged(f"{name}: its header is damaged")
    if version != FORMAT:
        raise Unsupported(f"{name}: format {version}; this build reads {FORMAT}")
    return SegmentHeader(**json.loads(data[body_start:end])), end


def skip_damaged_header(data: bytes) -> tuple[int, Episode | None]:
    """The byte where the first whole record begins, and its episode, which names the game.

    Without a whole record: the end of the data, and None.
    """
    record = next_record(data, 0)
    if record is None:
        return len(data), None
    return record.start - RECORD_HEADER_BYTES, Episode.decode(data[record.start : record.end])


def read_records(
    data: bytes, start: int, name: str, on_damage: Callable[[str], None]
) -> Iterator[Record]:
    """The whole records from byte `start` on.

    `on_damage` gets a sentence for each damaged stretch. Torn where the file ends within a record.
    """
    while start < len(data):
        try:
            record = record_at(data, start, name)
        except Damaged as fault:
            whole = next_record(data, start + 1)
            if whole is None:
                on_damage(f"{fault}; its last {len(data) - start} bytes are skipped")
                return
            at = whole.start - RECORD_HEADER_BYTES
            on_damage(f"{fault}; {at - start} bytes are skipped, up to a whole record at byte {at}")
            record = whole
        yield record
        start = record.end


def record_at(data: bytes, start: int, name: str) -> Record:
    """The record that begins at byte `start`, or Torn or Damaged."""
    view = memoryview(data)
    body_start = start + RECORD_HEADER_BYTES
    if body_start > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    length, num_rows, worker, sequence, body_crc = RECORD_HEADER.unpack_from(data, start)
    (header_crc,) = CRC.unpack_from(data, start + RECORD_HEADER.size)
    if header_crc != crc32(view[start : start + RECORD_HEADER.size]):
        raise Damaged(f"{name}: the header of the record at byte {start} is damaged")
    end = body_start + length
    if end > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    if body_crc != crc32(view[body_start:end]):
        raise Damaged(f"{name}: the episode of the record at byte {start} is damaged")
    return Record(worker, sequence, num_rows, body_start, end)


def next_record(data: bytes, start: int) -> Record | None:
    """The first whole record that begins at or after byte `start`, if there is one."""
    body_start = data.find(EPISODE_MAGIC, start + RECORD_HEADER_BYTES)
    while body_start >= 0:
        with suppress(ZerofleetError):
            record = record_at(data, body_start - RECORD_HEADER_BYTES, "")
            episode = Episode.decode(data[record.start : record.end])
            if (episode.worker, episode.sequence) == (record.worker, record.sequence):
                return record
        body_start = data.find(EPISODE_MAGIC, body_start + 1)
    return None
