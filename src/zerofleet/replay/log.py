"""Keeps episodes on disk, each once, in files that are only ever appended to.

An episode that `append` has returned from survives the death of the process; one that was appended
before `sync` survives that of the machine. An id counts once for as long as the log exists, also
when the file that held it is gone. The bytes are described in segment.py, recovery in recovery.py.
"""

import fcntl
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from io import FileIO
from itertools import chain, islice
from pathlib import Path

from zerofleet.config import ReplayConfig, game_text
from zerofleet.errors import Inconsistent
from zerofleet.games import Episode, Game
from zerofleet.replay.errors import LogFull, LogInUse
from zerofleet.replay.recovery import START, LogPosition, LogRecovery, Segment, path_of
from zerofleet.replay.segment import Record, SegmentHeader, head_bytes, read_records, record_bytes
from zerofleet.storage import NO_ROOM, write_whole


class EpisodeLog:
    """The log in a folder. One process has it at a time, and one thread of it."""

    def __init__(
        self,
        folder: Path,
        game: Game,
        config: ReplayConfig,
        until: LogPosition | None = None,
        begin_after: LogPosition = START,
    ) -> None:
        """Opens the log or begins one. With `until` all that was logged after it is removed.

        One that is begun counts on from `begin_after`, whose games are not here.
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
        """Writes those whose id is new, and says which they were; all or none.

        `num_rows` is how many positions each one gives to train on. LogFull leaves the log as
        it was.
        """
        is_new = []
        records: dict[tuple[int, int], bytes] = {}
        num_new_rows = 0
        for episode, count in zip(episodes, num_rows, strict=True):
            self._refuse_other_game(episode)
            episode_id = (episode.worker, episode.sequence)
            is_new.append(episode_id not in self._seen and episode_id not in records)
            if is_new[-1]:
                records[episode_id] = record_bytes(episode, count)
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
        """Forces all that was appended to the disk itself."""
        with refusing_when_full(self._segments[-1].path):
            os.fsync(self._file.fileno())
        self._synced_at_s = time.monotonic()

    @property
    def position(self) -> LogPosition:
        """The end of the log, and all that was ever in it."""
        return self._segments[-1].position

    @property
    def num_bytes(self) -> int:
        """On disk."""
        return sum(segment.num_bytes for segment in self._segments)

    def episodes(self) -> Iterator[bytes]:
        """All episodes that are still there, oldest first."""
        return chain.from_iterable(map(read_episodes, list(self._segments)))

    def newest(self, num_rows: int) -> tuple[int, Iterator[bytes]]:
        """The fewest episodes that hold the newest so many positions; all, if there are fewer.

        Gives how many positions were logged before the first of them, and them, oldest first.
        """
        num_found = 0
        chosen: list[Segment] = []
        for segment in reversed(self._segments):
            chosen.insert(0, segment)
            num_found += segment.num_rows
            if num_found >= num_rows:
                break
        num_skipped = 0
        for record in good_records(chosen[0], chosen[0].path.read_bytes()):
            if num_found - record.num_rows < num_rows:
                break
            num_found -= record.num_rows
            num_skipped += 1
        episodes = chain.from_iterable(map(read_episodes, chosen))
        return self.position.num_rows - num_found, islice(episodes, num_skipped, None)

    def trim(self, checkpoint: LogPosition) -> int:
        """Removes the oldest files while the log is over its size, and says how many.

        What the buffer held at `checkpoint`, the oldest that may be resumed from, stays.
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
        """Forces everything to the disk and lets others open the log."""
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
        path = path_of(self._folder, number)
        counts = last.num_episodes, last.num_rows
        game = self._game
        head = head_bytes(SegmentHeader(game.name, game.options, *counts, self._seen.to_json()))
        with refusing_when_full(path):
            write_whole(path, head)
        size = len(head)
        self._segments.append(Segment(path, number, size, *counts, start=size, end=size))

    def _refuse_other_game(self, episode: Episode) -> None:
        ours = game_text(self._game.name, self._game.options)
        theirs = game_text(episode.game, dict(episode.options))
        if theirs != ours:
            raise Inconsistent(f"{self._folder} takes episodes of {ours}, not of {theirs}")


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


def read_episodes(segment: Segment) -> Iterator[bytes]:
    data = segment.path.read_bytes()
    for record in good_records(segment, data):
        yield data[record.start : record.end]


def good_records(segment: Segment, data: bytes) -> Iterator[Record]:
    """The records of a file; damage between them was reported when the log was opened."""
    name = str(segment.path)
    return read_records(data[: segment.end], segment.start, name, on_damage=lambda fault: None)
