"""Checks an episode log when it is opened: every byte of every file.

What a crash left at the end of the newest file is cut. Damage elsewhere is named and skipped, up to
the next whole record; the file is left as it is and not appended to. A log of another game or
format is refused.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from zerofleet.config import game_text
from zerofleet.errors import Inconsistent
from zerofleet.games import Game
from zerofleet.replay.ids import SeenIds
from zerofleet.replay.segment import (
    RECORD_HEAD_BYTES,
    Damaged,
    SegmentHeader,
    Torn,
    read_head,
    read_records,
    start_without_head,
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
    """Cut from the end: what was being written when the process was stopped."""
    damage: tuple[str, ...]
    """A sentence for each fault, with the file and what was skipped."""


@dataclass
class Segment:
    """A file of the log, and what is good in it."""

    path: Path
    number: int
    num_bytes: int
    """On disk: more than `end` where it is damaged."""
    episodes_before: int
    rows_before: int
    num_episodes: int = 0
    num_rows: int = 0
    start: int = 0
    """Where the records begin; 0 where there are none."""
    end: int = 0
    """Where the good records end."""
    is_damaged: bool = False
    """Some of it was skipped."""

    @property
    def position(self) -> LogPosition:
        """The place after the last good record."""
        return LogPosition(
            self.number,
            self.end,
            self.episodes_before + self.num_episodes,
            self.rows_before + self.num_rows,
        )

    @property
    def can_grow(self) -> bool:
        return not self.is_damaged and self.end == self.num_bytes


class LogRecovery:
    """Reads the files in order, and remembers what it found."""

    def __init__(self, folder: Path, game: Game, until: LogPosition | None) -> None:
        """With `until` the log is taken back to that place: what lies behind it is removed."""
        self.segments: list[Segment] = []
        self.seen = SeenIds()
        self._game = game
        self._torn_bytes = 0
        self._damage: list[str] = []
        paths = sorted(folder.glob(f"segment-{'[0-9]' * 8}.zfl"))
        kept = [path for path in paths if until is None or number_of(path) <= until.segment]
        for path in kept:
            self._read(path, is_newest=path == kept[-1], until=until)
        if until is not None:
            self._refuse_other_end(folder, until)
        for path in reversed(paths[len(kept) :]):
            path.unlink()
        self._cut_newest(until)

    @property
    def report(self) -> RecoveryReport:
        return RecoveryReport(self._torn_bytes, tuple(self._damage))

    def _read(self, path: Path, is_newest: bool, until: LogPosition | None) -> None:
        data = path.read_bytes()
        last = self.segments[-1].position if self.segments else START
        segment = Segment(path, number_of(path), len(data), last.num_episodes, last.num_rows)
        self.segments.append(segment)
        if until is not None and segment.number == until.segment:
            data = data[: until.offset]

        def on_damage(fault: str) -> None:
            segment.is_damaged = True
            self._damage.append(fault)

        try:
            text, segment.start = read_head(data, str(path))
            self._take_head(segment, text)
        except Damaged as fault:
            segment.start, episode = start_without_head(data)
            if episode is not None:
                self._refuse_other_game(path, episode.game, dict(episode.options))
            on_damage(f"{fault}; its first {segment.start} bytes are skipped")
        segment.end = segment.start
        try:
            for record in read_records(data, segment.start, str(path), on_damage):
                if (record.worker, record.sequence) in self.seen:
                    at = record.start - RECORD_HEAD_BYTES
                    raise Damaged(
                        f"{path}: the record at byte {at} is a second one of episode "
                        f"{record.sequence} of worker {record.worker}"
                    )
                self.seen.add(record.worker, record.sequence, record.sequence + 1)
                segment.num_episodes += 1
                segment.num_rows += record.num_rows
                segment.end = record.end
        except (Torn, Damaged) as fault:
            skipped = len(data) - segment.end
            if isinstance(fault, Torn) and is_newest:
                self._torn_bytes = skipped
            else:
                on_damage(f"{fault}; its last {skipped} bytes are skipped")

    def _take_head(self, segment: Segment, text: SegmentHeader) -> None:
        self._refuse_other_game(segment.path, text.game, text.options)
        missing = text.episodes_before - segment.episodes_before
        if missing > 0:
            if len(self.segments) > 1:
                self._damage.append(f"{segment.path}: {missing} episodes before it are missing")
            segment.episodes_before = text.episodes_before
            segment.rows_before = text.rows_before
        self.seen.add_json(text.ids_before)

    def _refuse_other_game(self, path: Path, game: str, options: dict[str, str]) -> None:
        if (game, options) != (self._game.name, self._game.options):
            raise Inconsistent(
                f"{path} holds episodes of {game_text(game, options)}, not of "
                f"{game_text(self._game.name, self._game.options)}"
            )

    def _refuse_other_end(self, folder: Path, until: LogPosition) -> None:
        found = self.segments[-1].position if self.segments else START
        if found != until:
            raise Inconsistent(
                f"{folder} cannot be taken back to {until}; its records there end at {found}"
                + "".join(f"; {fault}" for fault in self._damage)
            )

    def _cut_newest(self, until: LogPosition | None) -> None:
        if self.segments and (self._torn_bytes or until is not None):
            newest = self.segments[-1]
            os.truncate(newest.path, newest.end)
            newest.num_bytes = newest.end


def number_of(path: Path) -> int:
    return int(path.stem.removeprefix("segment-"))


def path_of(folder: Path, number: int) -> Path:
    return folder / f"segment-{number:08d}.zfl"
