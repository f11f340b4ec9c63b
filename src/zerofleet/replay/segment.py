"""The bytes of one file of the episode log.

Numbers are little-endian; checks are CRC-32.

    "ZFL" | format u8 | length of the text u32 | check of the text and of all before it u32 | text
    then records: length of the episode u32 | rows u32 | worker u64 | sequence u64 |
                  check of the episode u32 | check of the fields before u32 | episode

The text is JSON: the game, its options, how much was logged before this file, and which ids. So the
log still knows what it has counted when its oldest files are gone. The head of a record has its own
check: a record that ends too early is torn, anything else that is wrong is damage.

Behind damage reading resumes at the next record. It is looked for by how an episode begins, and
taken for one only if both checks hold and the episode has the id that the head says.
"""

import json
import struct
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import NamedTuple
from zlib import crc32

from zerofleet.errors import BadBytes, Unsupported, ZerofleetError
from zerofleet.games import Episode
from zerofleet.replay.ids import Ranges

MAGIC = b"ZFL"
FORMAT = 2
FILE_HEAD = struct.Struct("<3sBI")
RECORD_HEAD = struct.Struct("<IIQQI")
CHECK = struct.Struct("<I")
RECORD_HEAD_BYTES = RECORD_HEAD.size + CHECK.size
EPISODE_MAGIC = b"ZFE"


@dataclass(frozen=True)
class SegmentHeader:
    """What a file says of itself."""

    game: str
    options: dict[str, str]
    episodes_before: int
    rows_before: int
    ids_before: dict[str, Ranges]


class Record(NamedTuple):
    """Where an episode lies in a file, and what is known of it without reading it."""

    worker: int
    sequence: int
    num_rows: int
    start: int
    """Of the episode; its head lies before."""
    end: int


class Torn(BadBytes):
    """The file ends within a record: whoever wrote it was stopped."""


class Damaged(BadBytes):
    """The bytes are not what was written."""


def head_bytes(text: SegmentHeader) -> bytes:
    body = json.dumps(asdict(text), sort_keys=True).encode()
    head = FILE_HEAD.pack(MAGIC, FORMAT, len(body))
    return head + CHECK.pack(crc32(body, crc32(head))) + body


def record_bytes(episode: Episode, num_rows: int) -> bytes:
    body = episode.encode()
    head = RECORD_HEAD.pack(len(body), num_rows, episode.worker, episode.sequence, crc32(body))
    return head + CHECK.pack(crc32(head)) + body


def read_head(data: bytes, name: str) -> tuple[SegmentHeader, int]:
    """What the file of that name says of itself, and where its records begin."""
    text_start = FILE_HEAD.size + CHECK.size
    if len(data) < text_start:
        raise Damaged(f"{name}: {len(data)} bytes, too few for its head")
    magic, version, length = FILE_HEAD.unpack_from(data)
    (check,) = CHECK.unpack_from(data, FILE_HEAD.size)
    end = text_start + length
    if magic != MAGIC or check != crc32(data[text_start:end], crc32(data[: FILE_HEAD.size])):
        raise Damaged(f"{name}: its head is damaged")
    if version != FORMAT:
        raise Unsupported(f"{name}: format {version}; this build reads {FORMAT}")
    return SegmentHeader(**json.loads(data[text_start:end])), end


def start_without_head(data: bytes) -> tuple[int, Episode | None]:
    """Where the records of a file begin whose head is damaged: at the first whole one, whose
    episode says of what game they are. Where there is none: at the end."""
    record = next_record(data, 0)
    if record is None:
        return len(data), None
    return record.start - RECORD_HEAD_BYTES, Episode.decode(data[record.start : record.end])


def read_records(
    data: bytes, start: int, name: str, on_damage: Callable[[str], None]
) -> Iterator[Record]:
    """The whole records from a byte on. `on_damage` gets a sentence on each stretch between them
    that is none; Torn is raised where the file ends within a record."""
    while start < len(data):
        try:
            record = record_at(data, start, name)
        except Damaged as fault:
            found = next_record(data, start + 1)
            if found is None:
                on_damage(f"{fault}; its last {len(data) - start} bytes are skipped")
                return
            at = found.start - RECORD_HEAD_BYTES
            on_damage(f"{fault}; {at - start} bytes are skipped, up to a whole record at byte {at}")
            record = found
        yield record
        start = record.end


def record_at(data: bytes, start: int, name: str) -> Record:
    """The record that begins at a byte, or Torn or Damaged."""
    view = memoryview(data)
    body_start = start + RECORD_HEAD_BYTES
    if body_start > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    length, num_rows, worker, sequence, body_check = RECORD_HEAD.unpack_from(data, start)
    (head_check,) = CHECK.unpack_from(data, start + RECORD_HEAD.size)
    if head_check != crc32(view[start : start + RECORD_HEAD.size]):
        raise Damaged(f"{name}: the head of the record at byte {start} is damaged")
    end = body_start + length
    if end > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    if body_check != crc32(view[body_start:end]):
        raise Damaged(f"{name}: the episode of the record at byte {start} is damaged")
    return Record(worker, sequence, num_rows, body_start, end)


def next_record(data: bytes, start: int) -> Record | None:
    """The first whole record that begins at or behind a byte, if there is one."""
    body_start = data.find(EPISODE_MAGIC, start + RECORD_HEAD_BYTES)
    while body_start >= 0:
        with suppress(ZerofleetError):
            record = record_at(data, body_start - RECORD_HEAD_BYTES, "")
            episode = Episode.decode(data[record.start : record.end])
            if (episode.worker, episode.sequence) == (record.worker, record.sequence):
                return record
        body_start = data.find(EPISODE_MAGIC, body_start + 1)
    return None
