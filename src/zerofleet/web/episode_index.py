"""An index of a run's episode log: a row of facts per game, built in the background.

The newest segments come first, so the first page is there at once. Each segment is read once; of
the one that grows only what is new. The thread works a share of the time, so that training in the
same process does not notice it. A row is 43 bytes: a million games take 43 MB.
"""

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import CHANCE, OVER
from zerofleet.errors import ZerofleetError
from zerofleet.games import Episode, Game
from zerofleet.replay.segment import (
    Damaged,
    Torn,
    read_episodes,
    read_header,
    skip_damaged_header,
)
from zerofleet.runs.logged_games import SEGMENTS

ROW = np.dtype(
    [
        ("worker", "<u8"),
        ("sequence", "<u8"),
        ("number", "<u4"),
        ("version", "<u4"),
        ("start", "<u4"),
        ("num_bytes", "<u4"),
        ("num_plies", "<u2"),
        ("outcome", "<i1"),
        ("surprise", "<f4"),
        ("favourite_lost", "<f4"),
    ]
)
BUSY_S, REST_S = 0.004, 0.012
"""The thread works for so long, then rests: a quarter of one core."""
MAX_PAUSED_S = 30.0
"""Without a request for so long, the thread ends; the next request starts another."""
REFRESH_S = 2.0


@dataclass
class Segment:
    """What is known of one file of the log."""

    number: int = 0
    """Games before the next record."""
    end: int = 0
    """Bytes that were read."""
    rows: list[NDArray[np.void]] = field(default_factory=list)


class EpisodeIndex:
    """The games of one run."""

    def __init__(self, folder: Path, game: Game) -> None:
        self._folder = folder
        self._game = game
        self._rewards = np.array([outcome.reward for outcome in game.outcomes])
        self._lock = threading.Lock()
        self._segments: dict[str, Segment] = {}
        self._is_complete = False
        self._asked_s = 0.0
        self._thread: threading.Thread | None = None
        self._joined: tuple[int, NDArray[np.void]] = 0, np.empty(0, ROW)
        self._changes = 0

    # ---- asking

    def rows(self, wait_s: float = 0.3) -> tuple[NDArray[np.void], bool]:
        """The rows by number, oldest first, and whether all games on disk are among them.

        Waits for the index for so long at most.
        """
        with self._lock:
            self._asked_s = time.monotonic()
            if self._thread is None or not self._thread.is_alive():
                self._is_complete = False
                self._thread = threading.Thread(
                    target=self._work, name="episode index", daemon=True
                )
                self._thread.start()
        end_s = time.monotonic() + wait_s
        while not self._is_complete and time.monotonic() < end_s:
            time.sleep(0.01)
        with self._lock:
            return self._all_rows(), self._is_complete

    def read(self, row: np.void) -> bytes | None:
        """The bytes of a game; None if its segment has been deleted."""
        with self._lock:
            names = [
                name
                for name, segment in self._segments.items()
                for rows in segment.rows
                if rows["number"][0] <= row["number"] <= rows["number"][-1]
            ]
        for name in names:
            with suppress(FileNotFoundError), (self._folder / name).open("rb") as file:
                file.seek(int(row["start"]))
                return file.read(int(row["num_bytes"]))
        return None

    def _all_rows(self) -> NDArray[np.void]:
        if self._joined[0] != self._changes:
            parts = [rows for name in sorted(self._segments) for rows in self._segments[name].rows]
            joined = np.concatenate(parts) if parts else np.empty(0, ROW)
            self._joined = self._changes, joined
        return self._joined[1]

    # ---- building

    def _work(self) -> None:
        while time.monotonic() - self._asked_s < MAX_PAUSED_S:
            try:
                self._read_all()
            except (OSError, ZerofleetError):  # the run was removed meanwhile, or is damaged
                time.sleep(REFRESH_S)
                continue
            with self._lock:
                self._is_complete = True
            time.sleep(REFRESH_S)

    def _read_all(self) -> None:
        paths = sorted(self._folder.glob(SEGMENTS))
        with self._lock:
            for gone in self._segments.keys() - {path.name for path in paths}:
                del self._segments[gone]
                self._changes += 1
        for path in reversed(paths):
            segment = self._segments.setdefault(path.name, Segment())
            with suppress(FileNotFoundError):
                if path.stat().st_size != segment.end:
                    self._read(path, segment)

    def _read(self, path: Path, segment: Segment) -> None:
        with path.open("rb") as file:
            file.seek(segment.end)
            data = file.read()
        start = 0
        if segment.end == 0:
            try:
                header, start = read_header(data, path.name)
                segment.number = header.episodes_before
            except Damaged:
                start, _ = skip_damaged_header(data)
        rows = []
        begun_s = time.perf_counter()
        read_to = start
        with suppress(Torn, Damaged):
            for record in read_episodes(data, start, path.name, ignore):
                row = self._row(
                    data[record.start : record.end], segment.number, segment.end + record.start
                )
                segment.number += 1
                read_to = record.end
                if row is not None:
                    rows.append(row)
                if time.perf_counter() - begun_s > BUSY_S:
                    time.sleep(REST_S)
                    begun_s = time.perf_counter()
        with self._lock:
            segment.end += read_to
            if rows:
                segment.rows.append(np.array(rows, ROW))
                self._changes += 1

    def _row(self, data: bytes, number: int, start: int) -> tuple[object, ...] | None:
        try:
            episode = Episode.decode(data)
            surprise, favourite_lost = self._drama(episode)
        except ZerofleetError:  # of another game, or damaged: not listed
            return None
        events = episode.events
        version = max((event.version for event in events), default=0)
        return (
            episode.worker,
            episode.sequence,
            number,
            version,
            start,
            len(data),
            min(len(events), 65535),
            episode.outcome_first_player,
            surprise,
            favourite_lost,
        )

    def _drama(self, episode: Episode) -> tuple[float, float]:
        """The largest surprise, and how sure the later loser once was to win."""
        outcome = episode.outcome_first_player
        events = episode.events
        surprise = max((event.surprise for event in events if event.kind == "full"), default=0.0)
        reward = self._rewards[outcome] if outcome >= 0 else 0.0
        if reward == 0:
            return surprise, 0.0
        loser = 1 if reward > 0 else 0
        wins, losses = self._rewards > 0, self._rewards < 0
        favourite = 0.0
        for position, event in zip(episode.positions(self._game), events, strict=False):
            if event.num_simulations == 0 or position.to_move in (CHANCE, OVER):
                continue
            chosen = wins if position.to_move == loser else losses
            chance = sum(
                each for each, is_in in zip(event.outcomes_to_move, chosen, strict=False) if is_in
            )
            favourite = max(favourite, chance)
        return surprise, favourite


def ignore(_: str) -> None:
    """Damage is reported by `zerofleet episodes`; a page lists what is intact."""


class Indexes:
    """The indexes of the runs that were looked at last."""

    MAX = 8

    def __init__(self, make: Callable[[str], EpisodeIndex]) -> None:
        self._make = make
        self._lock = threading.Lock()
        self._of_run: OrderedDict[str, EpisodeIndex] = OrderedDict()

    def of(self, key: str, run: str) -> EpisodeIndex:
        """`key` tells a run from a later one of the same name."""
        with self._lock:
            if key not in self._of_run:
                self._of_run[key] = self._make(run)
            self._of_run.move_to_end(key)
            while len(self._of_run) > self.MAX:
                self._of_run.popitem(last=False)
            return self._of_run[key]
