"""The episode log: every episode once, on disk, in append-only segments.

An episode survives the death of the process once `append` has returned, and the death of the
machine once `sync` has. An id counts once for as long as the log exists, even after the file that
held it is deleted.

Opening a log checks every byte of every file (`LogRecovery`). A torn record at the end of the
newest file is truncated. Damage elsewhere is reported and skipped up to the next whole record; such
a file stays as it is and is never appended to. segment.py describes the bytes.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import FileIO
from itertools import chain, islice
from pathlib import Path

from zerofleet.config import ReplayConfig, game_text
from zerofleet.errors import DiskFull, Inconsistent, ZerofleetError
from zerofleet.games import Episode, Game
from zerofleet.replay.segment import (
    RECORD_HEADER_BYTES,
    Damaged,
    Record,
    SeenIds,
    SegmentHeader,
    Torn,
    encode_record,
    read_header,
    read_records,
    skip_damaged_header,
)
from zerofleet.storage import NO_ROOM, write_whole


class LogFull(DiskFull):
    """The disk has no room for more episodes; the log is unchanged and append can be retried."""


class LogInUse(ZerofleetError):
    """Another process has this log open."""


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
        return read_records(data[: self.end], self.start, str(self.path), lambda fault: None)

    def episodes(self) -> Iterator[bytes]:
        data = self.path.read_bytes()
        for record in self.records(data):
            yield data[record.start : record.end]


class EpisodeLog:
    """The log in a folder, for one process at a time and one thread in it."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        config: ReplayConfig,
        until: LogPosition | None = None,
        begin_after: LogPosition = START,
    ) -> None:
        """Opens the log or begins one. With `until`, everything logged after it is removed.

        A new log counts on from `begin_after`; the episodes before that are not in it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._game = game
        self._config = config
        self._begin_after = begin_after
        self._synced_at_s = time.monotonic()
        self._lock = lock(folder)
        try:
            recovery = LogRecovery(folder, game, until)
            self.report = recovery.report
            """What was wrong with the log when it was opened."""
            self._seen = recovery.seen
            self._segments = recovery.segments
            if not self._segments or not self._segments[-1].can_grow:
                self._begin_segment()
            self._file = FileIO(self._segments[-1].path, "r+")
        except BaseException:
            self._lock.close()
            raise

    def append(self, episodes: Sequence[Episode], num_rows: Sequence[int]) -> list[bool]:
        """Writes the episodes whose id is new, all or none; returns for each whether it was new.

        `num_rows` says how many training rows each one gives. LogFull leaves the log unchanged.
        """
        is_new = []
        records: dict[tuple[int, int], bytes] = {}
        num_new_rows = 0
        for episode, count in zip(episodes, num_rows, strict=True):
            self._refuse_other_game(episode)
            episode_id = (episode.worker, episode.sequence)
            is_new.append(episode_id not in self._seen and episode_id not in records)
            if is_new[-1]:
                records[episode_id] = encode_record(episode, count)
                num_new_rows += count
        if records:
            self._write(b"".join(records.values()))
            newest = self._segments[-1]
            newest.num_episodes += len(records)
            newest.num_rows += num_new_rows
            for worker, sequence in records:
                self._seen.add(worker, sequence, sequence + 1)
        return is_new

    def sync(self) -> None:
        """Flushes everything appended to the disk itself (fsync)."""
        with refusing_when_full(self._segments[-1].path):
            os.fsync(self._file.fileno())
        self._synced_at_s = time.monotonic()

    @property
    def position(self) -> LogPosition:
        """The end of the log; its counts include deleted files."""
        return self._segments[-1].position

    @property
    def num_bytes(self) -> int:
        """On disk."""
        return sum(segment.num_bytes for segment in self._segments)

    def episodes(self) -> Iterator[bytes]:
        """All episodes on disk, oldest first."""
        return chain.from_iterable(segment.episodes() for segment in list(self._segments))

    def newest(self, num_rows: int) -> tuple[int, Iterator[bytes]]:
        """The fewest newest episodes that give `num_rows` rows, or all if there are fewer.

        Returns the number of rows logged before the first of them, and them, oldest first.
        """
        num_chosen_rows = 0
        chosen: list[Segment] = []
        for segment in reversed(self._segments):
            chosen.insert(0, segment)
            num_chosen_rows += segment.num_rows
            if num_chosen_rows >= num_rows:
                break
        num_skipped = 0
        for record in chosen[0].records(chosen[0].path.read_bytes()):
            if num_chosen_rows - record.num_rows < num_rows:
                break
            num_chosen_rows -= record.num_rows
            num_skipped += 1
        episodes = chain.from_iterable(segment.episodes() for segment in chosen)
        return self.position.num_rows - num_chosen_rows, islice(episodes, num_skipped, None)

    def trim(self, checkpoint: LogPosition) -> int:
        """Removes the oldest files while the log is over its size; returns how many.

        What the buffer held at `checkpoint`, the oldest one that a run may resume from, stays.
        """
        num_removed = 0
        while len(self._segments) > 1 and self.num_bytes > self._config.max_log_bytes:
            oldest = self._segments[0]
            num_left = checkpoint.num_rows - oldest.position.num_rows
            if num_left < self._config.capacity_rows:
                break
            oldest.path.unlink()
            del self._segments[0]
            num_removed += 1
        return num_removed

    def close(self) -> None:
        """Syncs, then lets others open the log."""
        try:
            self.sync()
        finally:
            self._file.close()
            self._lock.close()

    def _write(self, records: bytes) -> None:
        newest = self._segments[-1]
        if newest.num_episodes > 0 and newest.end + len(records) > self._config.segment_bytes:
            self.sync()
            self._begin_segment()
            newest = self._segments[-1]
            self._file.close()
            self._file = FileIO(newest.path, "r+")
        try:
            with refusing_when_full(newest.path):
                write_at(self._file.fileno(), newest.end, records)
            if time.monotonic() - self._synced_at_s >= self._config.fsync_interval_s:
                self.sync()
        except BaseException:
            self._file.truncate(newest.end)
            raise
        newest.end += len(records)
        newest.num_bytes = newest.end

    def _begin_segment(self) -> None:
        last = self._segments[-1].position if self._segments else self._begin_after
        number = last.segment + 1
        path = segment_path(self._folder, number)
        counts = last.num_episodes, last.num_rows
        game = self._game
        header = SegmentHeader(game.name, game.options, *counts, self._seen.to_json()).encode()
        with refusing_when_full(path):
            write_whole(path, header)
        size = len(header)
        self._segments.append(Segment(path, number, size, *counts, start=size, end=size))

    def _refuse_other_game(self, episode: Episode) -> None:
        ours = game_text(self._game.name, self._game.options)
        theirs = game_text(episode.game, dict(episode.options))
        if theirs != ours:
            raise Inconsistent(f"{self._folder} takes episodes of {ours}, not of {theirs}")


class LogRecovery:
    """Reads and checks the files of a log in order, and collects their segments and ids."""

    def __init__(self, folder: Path, game: Game, until: LogPosition | None) -> None:
        """With `until`, the log is truncated to that place."""
        self.segments: list[Segment] = []
        self.seen = SeenIds()
        self._game = game
        self._torn_bytes = 0
        self._damage: list[str] = []
        paths = sorted(folder.glob(f"segment-{'[0-9]' * 8}.zfl"))
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
        last = self.segments[-1].position if self.segments else START
        segment = Segment(path, segment_number(path), len(data), last.num_episodes, last.num_rows)
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
                if (record.worker, record.sequence) in self.seen:
                    at = record.start - RECORD_HEADER_BYTES
                    raise Damaged(
                        f"{path}: the record at byte {at} repeats episode {record.sequence} of "
                        f"worker {record.worker}"
                    )
                self.seen.add(record.worker, record.sequence, record.sequence + 1)
                segment.num_episodes += 1
                segment.num_rows += record.num_rows
                segment.end = record.end
        except (Torn, Damaged) as fault:
            num_skipped = len(data) - segment.end
            if isinstance(fault, Torn) and is_newest:
                self._torn_bytes = num_skipped
            else:
                on_damage(f"{fault}; its last {num_skipped} bytes are skipped")

    def _take_header(self, segment: Segment, header: SegmentHeader) -> None:
        self._refuse_other_game(segment.path, header.game, header.options)
        num_missing = header.episodes_before - segment.episodes_before
        if num_missing > 0:
            if len(self.segments) > 1:
                self._damage.append(f"{segment.path}: {num_missing} episodes before it are missing")
            segment.episodes_before = header.episodes_before
            segment.rows_before = header.rows_before
        self.seen.add_json(header.ids_before)

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


def segment_number(path: Path) -> int:
    return int(path.stem.removeprefix("segment-"))


def segment_path(folder: Path, number: int) -> Path:
    return folder / f"segment-{number:08d}.zfl"


def lock(folder: Path) -> FileIO:
    """An open file that keeps others out of the folder until it is closed."""
    file = FileIO(folder / "lock", "a")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        raise LogInUse(
            f"{folder} is in use by another process; stop that one, or use another folder"
        ) from None
    return file


@contextmanager
def refusing_when_full(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        if error.errno in NO_ROOM:
            raise LogFull(
                f"{path} cannot grow: {error.strerror}; nothing is lost, free some space and try "
                "again"
            ) from error
        raise


def write_at(file: int, offset: int, data: bytes) -> None:
    num_written = 0
    while num_written < len(data):
        num_written += os.pwrite(file, memoryview(data)[num_written:], offset + num_written)
