"""Opens an episode log: reads every file and finds the intact records.

Every byte of every file is checked. A torn record at the end of the newest file is truncated.
Damage elsewhere is reported and skipped up to the next intact record; such a file is left unchanged
and never appended to.
"""

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from zerofleet.config import game_text
from zerofleet.errors import Inconsistent
from zerofleet.games import Game
from zerofleet.replay.segment import (
    RECORD_HEADER_BYTES,
    Counted,
    Damaged,
    Entry,
    NoteRecord,
    Record,
    SegmentHeader,
    Torn,
    read_episodes,
    read_header,
    read_records,
    skip_damaged_header,
)


@dataclass(frozen=True)
class LogPosition:
    """A place in the log, for a checkpoint: a byte of a file, and all that was logged before it."""

    segment: int
    offset: int
    num_episodes: int
    num_rows: int


START = LogPosition(segment=0, offset=0, num_episodes=0, num_rows=0)
"""Before the first file."""


@dataclass(frozen=True)
class RecoveryReport:
    """What was wrong with a log when it was opened."""

    torn_bytes: int
    """Truncated from the end: what a stopped process was writing."""
    damage: tuple[str, ...]
    """A sentence per fault: the file, the fault, what was skipped."""


@dataclass
class Segment:
    """A file of the log and its whole records."""

    path: Path
    number: int
    num_bytes: int
    """On disk: more than `end` where the file is damaged."""
    episodes_before: int
    rows_before: int
    num_episodes: int = 0
    num_rows: int = 0
    start: int = 0
    """Where the records begin; 0 where there are none."""
    end: int = 0
    """Where the last whole record ends."""
    is_damaged: bool = False
    """Some of it was skipped."""

    @property
    def position(self) -> LogPosition:
        """The place after the last whole record."""
        return LogPosition(
            self.number,
            self.end,
            self.episodes_before + self.num_episodes,
            self.rows_before + self.num_rows,
        )

    @property
    def can_grow(self) -> bool:
        return not self.is_damaged and self.end == self.num_bytes

    def records(self, data: bytes) -> Iterator[Record]:
        """The whole records in the file's data; recovery has reported the damage between them."""
        return read_episodes(data[: self.end], self.start, str(self.path), lambda fault: None)

    def entries(self) -> Iterator[Entry]:
        data = self.path.read_bytes()
        for record in self.records(data):
            yield Entry(data[record.start : record.end], *record[:5])


class LogRecovery:
    """Reads and checks the files of a log in order, and collects their segments and all that they
    have counted."""

    def __init__(self, folder: Path, game: Game, until: LogPosition | None) -> None:
        """With `until`, the log is truncated to that place."""
        self.segments: list[Segment] = []
        self.counted = Counted()
        self._game = game
        self._torn_bytes = 0
        self._damage: list[str] = []
        paths = segment_paths(folder)
        kept = [path for path in paths if until is None or segment_number(path) <= until.segment]
        for path in kept:
            self._read(path, is_newest=path == kept[-1], until=until)
        if until is not None:
            self._refuse_other_end(folder, until)
        for path in reversed(paths[len(kept) :]):
            path.unlink()
        self._truncate_newest(until)

    @property
    def report(self) -> RecoveryReport:
        return RecoveryReport(self._torn_bytes, tuple(self._damage))

    def _read(self, path: Path, is_newest: bool, until: LogPosition | None) -> None:
        data = path.read_bytes()
        counted = self.counted
        segment = Segment(
            path, segment_number(path), len(data), counted.num_episodes, counted.num_rows
        )
        self.segments.append(segment)
        if until is not None and segment.number == until.segment:
            data = data[: until.offset]

        def on_damage(fault: str) -> None:
            segment.is_damaged = True
            self._damage.append(fault)

        try:
            header, segment.start = read_header(data, str(path))
            self._take_header(segment, header)
        except Damaged as fault:
            segment.start, episode = skip_damaged_header(data)
            if episode is not None:
                self._refuse_other_game(path, episode.game, dict(episode.options))
            on_damage(f"{fault}; its first {segment.start} bytes are skipped")
        segment.end = segment.start
        try:
            for record in read_records(data, segment.start, str(path), on_damage):
                if isinstance(record, NoteRecord):
                    counted.note.add(record.note)
                else:
                    self._take_record(segment, record)
                segment.end = record.end
        except (Torn, Damaged) as fault:
            num_skipped = len(data) - segment.end
            if isinstance(fault, Torn) and is_newest:
                self._torn_bytes = num_skipped
            else:
                on_damage(f"{fault}; its last {num_skipped} bytes are skipped")

    def _take_header(self, segment: Segment, header: SegmentHeader) -> None:
        self._refuse_other_game(segment.path, header.game, header.options)
        num_missing = self.counted.add_header(header)
        if num_missing > 0:
            if len(self.segments) > 1:
                self._damage.append(f"{segment.path}: {num_missing} episodes before it are missing")
            segment.episodes_before = header.episodes_before
            segment.rows_before = header.rows_before

    def _take_record(self, segment: Segment, record: Record) -> None:
        if (record.worker, record.sequence) in self.counted.ids:
            at = record.start - RECORD_HEADER_BYTES
            raise Damaged(
                f"{segment.path}: the record at byte {at} repeats episode {record.sequence} of "
                f"worker {record.worker}"
            )
        self.counted.add_episode(*record[:5])
        segment.num_episodes += 1
        segment.num_rows += record.num_rows

    def _refuse_other_game(self, path: Path, game: str, options: dict[str, str]) -> None:
        if (game, options) != (self._game.name, self._game.options):
            raise Inconsistent(
                f"{path} holds episodes of {game_text(game, options)}, not of "
                f"{game_text(self._game.name, self._game.options)}"
            )

    def _refuse_other_end(self, folder: Path, until: LogPosition) -> None:
        end = self.segments[-1].position if self.segments else START
        if end != until:
            raise Inconsistent(
                f"{folder} cannot be truncated to {until}; its records there end at {end}"
                + "".join(f"; {fault}" for fault in self._damage)
            )

    def _truncate_newest(self, until: LogPosition | None) -> None:
        if self.segments and (self._torn_bytes or until is not None):
            newest = self.segments[-1]
            os.truncate(newest.path, newest.end)
            newest.num_bytes = newest.end


def log_without_episodes(folder: Path) -> tuple[str, bytes] | None:
    """A file that stands for the whole log of a folder: all that it has counted, and no episode.

    Returns its name and its bytes; None where there is no log. Nothing in the folder changes.
    """
    counted = Counted()
    header = None
    paths = segment_paths(folder)
    for path in paths:
        data = path.read_bytes()
        try:
            header, start = read_header(data, str(path))
            counted.add_header(header)
        except Damaged:
            start, _ = skip_damaged_header(data)
        with suppress(Torn):
            for record in read_records(data, start, str(path), lambda fault: None):
                if isinstance(record, NoteRecord):
                    counted.note.add(record.note)
                elif (record.worker, record.sequence) not in counted.ids:
                    counted.add_episode(*record[:5])
    if header is None:
        return None
    name = segment_path(folder, segment_number(paths[-1]) + 1).name
    return name, counted.header(header.game, header.options).encode()


def segment_paths(folder: Path) -> list[Path]:
    return sorted(folder.glob(f"segment-{'[0-9]' * 8}.zfl"))


def segment_number(path: Path) -> int:
    return int(path.stem.removeprefix("segment-"))


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"segment-{number:08d}.zfl"
