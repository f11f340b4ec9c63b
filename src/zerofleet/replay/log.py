"""The episode log: every episode once, on disk, in append-only segments.

An episode survives the death of the process once `append` has returned, and the death of the
machine once `sync` has. An id counts once for as long as the log exists, even after the file that
held it is deleted; so does the spool number of a sender. `marks` gives per sender the number below
which everything is done and fsynced, so that the sender may delete it.

recovery.py opens it, segment.py describes the bytes.
"""

import fcntl
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import FileIO
from itertools import chain, islice
from pathlib import Path

from zerofleet.bus import EpisodeId, Sender
from zerofleet.config import ReplayConfig
from zerofleet.errors import DiskFull, ZerofleetError
from zerofleet.games import Game
from zerofleet.replay.recovery import START, LogPosition, LogRecovery, Segment, segment_path
from zerofleet.replay.segment import NO_NUMBER, Entry, Note, encode_note, encode_record
from zerofleet.storage import NO_ROOM, write_whole


class LogFull(DiskFull):
    """The disk has no room for more episodes; the log is unchanged and append can be retried."""


class LogInUse(ZerofleetError):
    """Another process has this log open."""


class EpisodeLog:
    """The log in a folder, for one process at a time. One thread appends; others may sync, trim and
    ask."""

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
        self._changing = threading.RLock()
        self._lock = lock(folder)
        try:
            recovery = LogRecovery(folder, game, until)
            self.report = recovery.report
            """What was wrong with the log when it was opened."""
            self._counted = recovery.counted
            self._segments = recovery.segments
            if not self._segments:
                self._counted.num_episodes = begin_after.num_episodes
                self._counted.num_rows = begin_after.num_rows
            if not self._segments or not self._segments[-1].can_grow:
                self._begin_segment()
            self._file = FileIO(self._segments[-1].path, "r+")
            self._marks: dict[Sender, int] = {}
            self._unsynced = {sender for sender, _ in self._counted.note.done.items()}
            """Senders whose mark may have risen since the last sync."""
            self.sync()  # a killed process may have left what only the page cache holds
        except BaseException:
            self._lock.close()
            raise

    def append(
        self,
        entries: Sequence[Entry],
        done: Iterable[tuple[Sender, int]] = (),
        sync: bool = False,
    ) -> list[bool]:
        """Writes the episodes whose id is new, all or none; returns for each whether it was new.
        A withdrawn one is not.

        Spool numbers in `done`, and those of episodes that are not new, are logged as done. With
        `sync` everything is on the disk itself when this returns. LogFull leaves the log unchanged.
        """
        is_new = []
        new: dict[EpisodeId, Entry] = {}
        note = Note()
        for sender, number in done:
            note.done.add(sender, number, number + 1)
        for entry in entries:
            episode_id = entry.worker, entry.sequence
            is_new.append(
                episode_id not in self._counted.ids
                and not self.is_withdrawn(episode_id)
                and new.setdefault(episode_id, entry) is entry
            )
            if entry.number == NO_NUMBER:
                continue
            if not is_new[-1]:
                sender = Sender(entry.sender, entry.worker)
                note.done.add(sender, entry.number, entry.number + 1)
            elif entry.worker not in self._counted.note.workers:
                note.workers[entry.worker] = entry.sender
        with self._changing:
            self._append(list(new.values()), note, sync)
        return is_new

    def withdraw(self, ids: Iterable[EpisodeId]) -> None:
        """Logs that these episodes are not to be trained on."""
        note = Note()
        for worker, sequence in ids:
            note.withdrawn.add(worker, sequence, sequence + 1)
        with self._changing:
            self._append([], note, sync=True)

    def lost_below(self, marks: Mapping[Sender, int]) -> dict[Sender, int]:
        """How many spool numbers below marks that the bus has are not in this log.

        They were logged once, so their sender has forgotten them: the log was restored from an
        older copy. From now on they count as done.
        """
        seen = self._counted.note.done
        lost = {sender: seen.num_missing(sender, mark) for sender, mark in marks.items()}
        lost = {sender: number for sender, number in lost.items() if number > 0}
        note = Note()
        for sender in lost:
            note.done.add(sender, 0, marks[sender])
        with self._changing:
            self._append([], note, sync=True)
        return lost

    def sync(self) -> None:
        """Flushes everything appended to the disk itself (fsync)."""
        with self._changing:
            self._fsync()
            self._raise_marks()

    def marks(self, senders: Collection[Sender] | None = None) -> dict[Sender, int]:
        """Per sender, of all or of these: all its spool numbers below are done and fsynced."""
        with self._changing:
            if senders is None:
                return dict(self._marks)
            return {sender: self._marks.get(sender, 0) for sender in senders}

    def is_done(self, sender: Sender, number: int) -> bool:
        """Whether that spool number was logged before."""
        return (sender, number) in self._counted.note.done

    def is_withdrawn(self, episode: EpisodeId) -> bool:
        return episode in self._counted.note.withdrawn

    def worker_of(self, incarnation: int) -> str | None:
        """The worker that has sent episodes under that incarnation."""
        return self._counted.note.workers.get(incarnation)

    @property
    def newest_version(self) -> int:
        """The highest version of weights that played in any episode; 0 before the first."""
        return self._counted.newest_version

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
        for segment in list(self._segments):
            for entry in segment.entries():
                yield entry.data

    def newest(self, num_rows: int) -> tuple[int, Iterator[Entry]]:
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
        entries = chain.from_iterable(segment.entries() for segment in chosen)
        return self.position.num_rows - num_chosen_rows, islice(entries, num_skipped, None)

    def trim(self, checkpoint: LogPosition) -> int:
        """Removes the oldest files while the log is over its size; returns how many.

        What the buffer held at `checkpoint`, the oldest one that a run may resume from, stays.
        """
        num_removed = 0
        with self._changing:
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

    def _append(self, entries: Sequence[Entry], note: Note, sync: bool) -> None:
        """Writes a note and new episodes, then counts them."""
        records = [encode_note(note)] if note else []
        records += map(encode_record, entries)
        is_synced = self._write(b"".join(records), sync) if records else False
        self._counted.note.add(note)
        newest = self._segments[-1]
        for entry in entries:
            self._counted.add_episode(*entry[1:6])
            newest.num_rows += entry.num_rows
        newest.num_episodes += len(entries)
        self._unsynced |= {sender for sender, _ in note.done.items()}
        self._unsynced |= {
            Sender(entry.sender, entry.worker) for entry in entries if entry.number != NO_NUMBER
        }
        if is_synced:
            self._raise_marks()

    def _write(self, records: bytes, sync: bool) -> bool:
        """Appends bytes, all or none; returns whether they were fsynced."""
        newest = self._segments[-1]
        if newest.end > newest.start and newest.end + len(records) > self._config.segment_bytes:
            self.sync()
            self._begin_segment()
            newest = self._segments[-1]
            self._file.close()
            self._file = FileIO(newest.path, "r+")
        sync |= time.monotonic() - self._synced_at_s >= self._config.fsync_interval_s
        try:
            with refusing_when_full(newest.path):
                write_at(self._file.fileno(), newest.end, records)
            if sync:
                self._fsync()
        except BaseException:
            self._file.truncate(newest.end)
            raise
        newest.end += len(records)
        newest.num_bytes = newest.end
        return sync

    def _fsync(self) -> None:
        with refusing_when_full(self._segments[-1].path):
            os.fsync(self._file.fileno())
        self._synced_at_s = time.monotonic()

    def _raise_marks(self) -> None:
        for sender in self._unsynced:
            self._marks[sender] = self._counted.note.done.mark(sender)
        self._unsynced.clear()

    def _begin_segment(self) -> None:
        last = self._segments[-1].number if self._segments else self._begin_after.segment
        path = segment_path(self._folder, last + 1)
        counted = self._counted
        header = counted.header(self._game.name, self._game.options).encode()
        with refusing_when_full(path):
            write_whole(path, header)
        size = len(header)
        self._segments.append(
            Segment(
                path,
                last + 1,
                size,
                counted.num_episodes,
                counted.num_rows,
                start=size,
                end=size,
            )
        )


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
