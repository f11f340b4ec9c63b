"""The bytes of one segment: a file of the episode log.

Integers are little-endian; every CRC is a CRC-32.

    header:  "ZFL" | format u8 | JSON length u32 | CRC of the JSON and of all before it u32 | JSON
    record:  body length u32 | rows u32 | worker u64 | sequence u64 | spool number i64 |
             version u64 | CRC of the body u32 | CRC of the fields before u32 | body

The body of a record is an episode, or a note: "ZFN" and JSON. The version is the highest that
played in the episode. The spool number is -1 where no sender numbered it. A note has zeros in the
other fields; it records which worker an incarnation belongs to, which spool numbers are done
without an episode here, and which episodes were withdrawn.

The JSON of a header has the game, how much was logged before this file, and everything that earlier
notes and records state. So the log still knows what it has counted after its oldest files are
deleted. A record's header has its own CRC: a record that ends too early is torn, anything else that
is wrong is damage.

After damage, reading resumes at the next intact record: the magic of an episode or a note, behind a
header whose CRCs both match and whose id is the episode's.
"""

import json
import struct
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any, Generic, NamedTuple, TypeVar
from zlib import crc32

from zerofleet.bus import EpisodeId, Sender
from zerofleet.errors import BadBytes, Unsupported, ZerofleetError
from zerofleet.games import Episode

MAGIC = b"ZFL"
FORMAT = 3
FILE_HEADER = struct.Struct("<3sBI")
RECORD_HEADER = struct.Struct("<IIQQqQI")
CRC = struct.Struct("<I")
RECORD_HEADER_BYTES = RECORD_HEADER.size + CRC.size
BODY_MAGIC = b"ZF"
EPISODE_MAGIC = b"ZFE"
NOTE_MAGIC = b"ZFN"
NO_NUMBER = -1

Ranges = list[tuple[int, int]]
"""Half-open ranges of numbers, ascending and disjoint."""

Key = TypeVar("Key", bound=Hashable)


class SeenNumbers(Generic[Key]):
    """Numbers that were seen, as ranges per key: of episodes per worker, of deliveries per sender.

    Most come in order, so a few ranges stand for millions of numbers.
    """

    def __init__(self, items: Iterable[tuple[Key, Ranges]] = ()) -> None:
        self._ranges: dict[Key, Ranges] = {}
        for key, ranges in items:
            for first, end in ranges:
                self.add(key, first, end)

    def __contains__(self, item: tuple[Key, int]) -> bool:
        key, number = item
        ranges = self._ranges.get(key, [])
        at = bisect_left(ranges, (number + 1, 0))
        return at > 0 and number < ranges[at - 1][1]

    def items(self) -> Iterable[tuple[Key, Ranges]]:
        return self._ranges.items()

    def add(self, key: Key, first: int, end: int) -> None:
        """Adds first…end-1 and merges the ranges that they touch."""
        ranges = self._ranges.setdefault(key, [])
        if ranges and ranges[-1][1] == first:  # the next in order
            ranges[-1] = (ranges[-1][0], end)
            return
        at = bisect_left(ranges, (first + 1, 0))
        if at > 0 and ranges[at - 1][1] >= first:
            at -= 1
        after = at
        while after < len(ranges) and ranges[after][0] <= end:
            first, end = min(first, ranges[after][0]), max(end, ranges[after][1])
            after += 1
        ranges[at:after] = [(first, end)]

    def add_all(self, other: "SeenNumbers[Key]") -> None:
        for key, ranges in other.items():
            for first, end in ranges:
                self.add(key, first, end)

    def mark(self, key: Key) -> int:
        """All numbers below it were seen."""
        ranges = self._ranges.get(key)
        return ranges[0][1] if ranges and ranges[0][0] == 0 else 0

    def num_missing(self, key: Key, end: int) -> int:
        """How many numbers below `end` were not seen."""
        ranges = self._ranges.get(key, [])
        return end - sum(min(end, last) - first for first, last in ranges if first < end)


@dataclass
class Note:
    """What a log knows beside its episodes."""

    workers: dict[int, str] = field(default_factory=dict)
    """The worker that an incarnation is of."""
    done: SeenNumbers[Sender] = field(default_factory=SeenNumbers)
    """Spool numbers that are done: logged, refused, cleared or lost."""
    withdrawn: SeenNumbers[int] = field(default_factory=SeenNumbers)
    """Ids of episodes not to train on."""

    def __bool__(self) -> bool:
        return bool(self.workers or self.done.items() or self.withdrawn.items())

    def add(self, other: "Note") -> None:
        self.workers |= other.workers
        self.done.add_all(other.done)
        self.withdrawn.add_all(other.withdrawn)

    def to_json(self) -> dict[str, Any]:
        return {
            "workers": sorted(self.workers.items()),
            "done": [(*sender, ranges) for sender, ranges in self.done.items()],
            "withdrawn": list(self.withdrawn.items()),
        }

    @classmethod
    def from_json(cls, note: dict[str, Any]) -> "Note":
        done = [(Sender(worker, number), ranges) for worker, number, ranges in note["done"]]
        return cls(dict(note["workers"]), SeenNumbers(done), SeenNumbers(note["withdrawn"]))


@dataclass(frozen=True)
class SegmentHeader:
    """The game of a segment, and all that was logged before it."""

    game: str
    options: dict[str, str]
    episodes_before: int
    rows_before: int
    newest_version: int
    ids_before: list[tuple[int, Ranges]]
    note: dict[str, Any]

    def encode(self) -> bytes:
        body = json.dumps(asdict(self), sort_keys=True).encode()
        head = FILE_HEADER.pack(MAGIC, FORMAT, len(body))
        return head + CRC.pack(crc32(body, crc32(head))) + body


class Counted:
    """What a log has counted, deleted files included: episodes, rows, ids and all its notes."""

    def __init__(self) -> None:
        self.num_episodes = 0
        self.num_rows = 0
        self.newest_version = 0
        """The highest version of weights that played."""
        self.ids: SeenNumbers[int] = SeenNumbers()
        self.note = Note()

    def add_episode(
        self, worker: int, sequence: int, num_rows: int, version: int, number: int
    ) -> None:
        self.num_episodes += 1
        self.num_rows += num_rows
        self.newest_version = max(self.newest_version, version)
        self.ids.add(worker, sequence, sequence + 1)
        name = self.note.workers.get(worker)
        if number != NO_NUMBER and name is not None:
            self.note.done.add(Sender(name, worker), number, number + 1)

    def add_header(self, header: SegmentHeader) -> int:
        """Returns how many episodes were logged before that segment and are missing here."""
        num_missing = header.episodes_before - self.num_episodes
        if num_missing > 0:
            self.num_episodes, self.num_rows = header.episodes_before, header.rows_before
        self.newest_version = max(self.newest_version, header.newest_version)
        self.ids.add_all(SeenNumbers(header.ids_before))
        self.note.add(Note.from_json(header.note))
        return num_missing

    def header(self, game: str, options: dict[str, str]) -> SegmentHeader:
        """Of the segment that follows."""
        return SegmentHeader(
            game,
            options,
            self.num_episodes,
            self.num_rows,
            self.newest_version,
            list(self.ids.items()),
            self.note.to_json(),
        )


class Entry(NamedTuple):
    """An episode to log, and what its record says of it."""

    data: bytes
    worker: int
    sequence: int
    num_rows: int
    version: int = 0
    number: int = NO_NUMBER
    sender: str = ""
    """The id of the worker that sent it under that number."""

    @property
    def id(self) -> EpisodeId:
        return self.worker, self.sequence


class Record(NamedTuple):
    """Where an episode lies in a segment, and what its header says."""

    worker: int
    sequence: int
    num_rows: int
    version: int
    number: int
    start: int
    """First byte of the episode, after the record's header."""
    end: int


class NoteRecord(NamedTuple):
    """Where a note lies in a segment, and what it says."""

    note: Note
    start: int
    end: int


class Torn(BadBytes):
    """The file ends within a record: its writer was stopped."""


class Damaged(BadBytes):
    """The bytes differ from those that were written."""


def encode_record(entry: Entry) -> bytes:
    data, worker, sequence, num_rows, version, number, _ = entry
    head = RECORD_HEADER.pack(len(data), num_rows, worker, sequence, number, version, crc32(data))
    return head + CRC.pack(crc32(head)) + data


def encode_note(note: Note) -> bytes:
    text = json.dumps(note.to_json()).encode()
    return encode_record(Entry(NOTE_MAGIC + text, worker=0, sequence=0, num_rows=0))


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
        raise Unsupported(
            f"{name}: the log has format {version}; this build reads {FORMAT}. Resume the run with "
            "the zerofleet that wrote it, or begin a new one"
        )
    return SegmentHeader(**json.loads(data[body_start:end])), end


def skip_damaged_header(data: bytes) -> tuple[int, Episode | None]:
    """The byte where the first whole record begins, and the first episode, which names the game.

    Without a whole record: the end of the data, and None.
    """
    first = next_record(data, 0)
    if first is None:
        return len(data), None
    start = first.start - RECORD_HEADER_BYTES
    episode = next_record(data, start, EPISODE_MAGIC)
    return start, Episode.decode(data[episode.start : episode.end]) if episode else None


def read_records(
    data: bytes, start: int, name: str, on_damage: Callable[[str], None]
) -> Iterator[Record | NoteRecord]:
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


def read_episodes(
    data: bytes, start: int, name: str, on_damage: Callable[[str], None]
) -> Iterator[Record]:
    """The same without the notes."""
    for record in read_records(data, start, name, on_damage):
        if isinstance(record, Record):
            yield record


def record_at(data: bytes, start: int, name: str) -> Record | NoteRecord:
    """The record that begins at byte `start`, or Torn or Damaged."""
    view = memoryview(data)
    body_start = start + RECORD_HEADER_BYTES
    if body_start > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    length, num_rows, worker, sequence, number, version, body_crc = RECORD_HEADER.unpack_from(
        data, start
    )
    (header_crc,) = CRC.unpack_from(data, start + RECORD_HEADER.size)
    if header_crc != crc32(view[start : start + RECORD_HEADER.size]):
        raise Damaged(f"{name}: the header of the record at byte {start} is damaged")
    end = body_start + length
    if end > len(data):
        raise Torn(f"{name}: the record at byte {start} ends too early")
    if body_crc != crc32(view[body_start:end]):
        raise Damaged(f"{name}: the episode of the record at byte {start} is damaged")
    if data.startswith(NOTE_MAGIC, body_start):
        text = data[body_start + len(NOTE_MAGIC) : end]
        return NoteRecord(Note.from_json(json.loads(text)), body_start, end)
    return Record(worker, sequence, num_rows, version, number, body_start, end)


def next_record(data: bytes, start: int, magic: bytes = BODY_MAGIC) -> Record | NoteRecord | None:
    """The first whole record that begins at or after byte `start`, if there is one."""
    body_start = data.find(magic, start + RECORD_HEADER_BYTES)
    while body_start >= 0:
        with suppress(ZerofleetError):
            record = record_at(data, body_start - RECORD_HEADER_BYTES, "")
            if isinstance(record, NoteRecord):
                return record
            episode = Episode.decode(data[record.start : record.end])
            if (episode.worker, episode.sequence) == (record.worker, record.sequence):
                return record
        body_start = data.find(magic, body_start + 1)
    return None
