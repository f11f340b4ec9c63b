"""What workers spooled and what a trainer logged, read from their files alone.

A game is its incarnation, its number among that incarnation's games and its number in the spool.
Nothing here imports zerofleet's own readers of spool and log: both formats are read as they are
documented (selfplay/spool.py, replay/segment.py). Only the game's number comes from its decoder.
"""

import os
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from zerofleet.games import Episode

SPOOL_RECORD = struct.Struct("<4sIIQII")
LOG_RECORD = struct.Struct("<IIQQqQII")
WATCH_S = 0.01


class GameId(NamedTuple):
    incarnation: int
    sequence: int
    spool_number: int


def kept_folder(spool: Path) -> Path:
    return spool.parent / f"{spool.name}-kept"


def keep(path: Path, kept: Path) -> bool:
    """Whether a file of a spool has a second link now, or had one already."""
    link = kept / f"{path.parent.name}-{path.name}"
    with suppress(FileExistsError, FileNotFoundError):
        os.link(path, link)
    return link.exists()


def keep_before_deletion(spool: Path) -> None:
    """Spool files that this process deletes get their second link first: on a busy machine a watch
    may see them too late."""
    kept, unlink = kept_folder(spool), Path.unlink

    def keep_and_unlink(path: Path, missing_ok: bool = False) -> None:
        if path.suffix == ".games":
            keep(path, kept)
        unlink(path, missing_ok)

    Path.unlink = keep_and_unlink  # type: ignore[method-assign]


class SpoolWatch:
    """Keeps every file of a spool by a second link, since workers delete what is confirmed.

    `spooled` adds to what was found before, so that a record that is removed later still counts.
    """

    def __init__(self, spool: Path) -> None:
        self._spool = spool
        self._kept = kept_folder(spool)
        self._kept.mkdir(parents=True)
        self._linked: set[Path] = set()
        self.missed: list[Path] = []
        """Files that were gone before they could be kept."""
        self._found: set[GameId] = set()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(WATCH_S):
            with suppress(FileNotFoundError):  # a folder that its worker removes while it is read
                for path in self._spool.glob("*/*/*.games"):
                    self._keep(path)

    def _keep(self, path: Path) -> None:
        if path in self._linked:
            return
        self._linked.add(path)
        if not keep(path, self._kept):
            self.missed.append(path)

    def spooled(self) -> set[GameId]:
        """Every game that was ever whole in a spool."""
        self._found |= self.records().keys()
        return self._found.copy()

    def records(self) -> dict[GameId, bytes]:
        """The episode of every game that was spooled."""
        assert self.missed == []
        return self.kept()

    def kept(self) -> dict[GameId, bytes]:
        """The episode of every game in the files that are kept."""
        records = {}
        for path in self._kept.iterdir():
            incarnation = int(path.name.split("-")[0], 16)
            for number, episode in spool_records(path.read_bytes()):
                decoded = Episode.decode(episode)
                assert decoded.worker == incarnation
                records[GameId(incarnation, decoded.sequence, number)] = episode
        return records


def spool_records(data: bytes) -> Iterator[tuple[int, bytes]]:
    """Number and episode of each whole record."""
    at = 0
    while at + SPOOL_RECORD.size <= len(data):
        magic, length, _, number, _, _ = SPOOL_RECORD.unpack_from(data, at)
        assert magic == b"ZFSR"
        at += SPOOL_RECORD.size
        if at + length <= len(data):
            yield number, data[at : at + length]
        at += length


def logged(run: Path) -> list[GameId]:
    """The games in the log of a run folder, in its order; a game that it has twice is there
    twice."""
    games = []
    for path in sorted((run / "episodes").glob("segment-*.zfl")):
        data = path.read_bytes()
        at = 12 + int.from_bytes(data[4:8], "little")
        while at + LOG_RECORD.size <= len(data):
            length, _, worker, sequence, number, *_ = LOG_RECORD.unpack_from(data, at)
            at += LOG_RECORD.size
            if data[at : at + 3] == b"ZFE" and at + length <= len(data):
                games.append(GameId(worker, sequence, number))
            at += length
    return games


def check_each_once(spooled: set[GameId], in_log: list[GameId]) -> None:
    """The games that were spooled are those that were logged, each once; and each incarnation
    numbered its own from 0 without a gap."""
    repeated = [game for game, times in Counter(in_log).items() if times > 1]
    assert repeated == [], f"{len(repeated)} games were logged more than once"
    ids = Counter((game.incarnation, game.sequence) for game in in_log)
    assert max(ids.values(), default=1) == 1, "a game was logged under two spool numbers"
    lost, invented = spooled - set(in_log), set(in_log) - spooled
    assert not lost, f"{len(lost)} of {len(spooled)} games were lost: {sorted(lost)[:5]}"
    assert not invented, f"{len(invented)} games were logged and never spooled"
    numbers: dict[int, list[int]] = {}
    for game in spooled:
        numbers.setdefault(game.incarnation, []).append(game.spool_number)
    assert all(sorted(each) == list(range(len(each))) for each in numbers.values())
