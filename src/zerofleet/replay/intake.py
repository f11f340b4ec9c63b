"""Takes in untrusted episodes: each counts once, and a bad one affects no other.

An episode is decoded with bounds and replayed through the rules, which also derives its rows: in
the core, outside the GIL, on as many threads as asked. Good ones go into the log and the buffer. A
bad one is kept in a folder with the reason beside it, and its spool number counts as done, so its
sender does not send it again. Duplicates, by id or by spool number, are dropped. An empty episode
means that its sender has lost it.
"""

import time
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from zerofleet._core import CheckedEpisodes
from zerofleet.bus import Delivery, EpisodeId, Sender
from zerofleet.replay.replay import Replay
from zerofleet.replay.segment import Entry
from zerofleet.storage import Disk

MAX_KEPT = 100
"""Refused episodes in the folder; the oldest make room."""
MAX_KEPT_BYTES = 1 << 16
"""Of each of them."""
MAX_WORKER_ID = 200
"""Characters of a worker's id."""
MAX_NUMBER = 2**63 - 1
"""The largest spool number."""
SAY_INTERVAL_S = 10.0
"""Between two messages about refused episodes."""
MIN_PER_THREAD = 16
"""Episodes that are worth a thread."""


@dataclass
class IntakeCounts:
    """What was taken in since the start."""

    num_episodes: int = 0
    """New ones."""
    num_duplicates: int = 0
    num_refused: int = 0
    num_lost: int = 0
    """Spool numbers whose episodes neither the log nor their sender has any more."""
    num_withdrawn_samples: int = 0
    """Samples that were trained on before their episode was withdrawn."""


class Intake:
    """Fills a replay with what a bus delivers. One thread takes in."""

    def __init__(
        self,
        replay: Replay,
        refused: Path,
        disk: Disk,
        say: Callable[[str], None] = print,
        *,
        syncs: bool = False,
        num_threads: int = 1,
    ) -> None:
        """`refused` is the folder for bad episodes. With `syncs` all that was taken in is on the
        disk itself before it counts as taken: for senders that forget what is marked."""
        self.counts = IntakeCounts()
        self._replay = replay
        self._refused = RefusedFolder(refused)
        self._disk = disk
        self._say = say
        self._syncs = syncs
        self._num_threads = num_threads
        self._pool = ThreadPoolExecutor(num_threads, "intake")
        self._num_unsaid = 0
        self._said_at_s = -SAY_INTERVAL_S

    def take(self, deliveries: Sequence[Delivery]) -> None:
        """Takes in what is new. All of it is done afterwards: logged, dropped or refused."""
        log = self._replay.log
        new: list[Delivery] = []
        seen: set[tuple[Sender, int]] = set()
        workers: dict[int, str] = {}
        """By incarnation."""
        lost: list[tuple[Sender, int]] = []
        uncounted: list[tuple[Delivery, str]] = []
        refused: list[tuple[Delivery, str]] = []
        for each in deliveries:
            sender, number = each.sender, each.number
            if reason := fault_of_sender(each):
                uncounted.append((each, reason))
                continue
            if log.is_done(sender, number) or (sender, number) in seen:
                self.counts.num_duplicates += 1
                continue
            seen.add((sender, number))
            if not each.episode:
                lost.append((sender, number))
                continue
            worker = log.worker_of(sender.incarnation) or sender.worker
            worker = workers.setdefault(sender.incarnation, worker)
            if worker == sender.worker:
                new.append(each)
            else:
                refused.append((each, f"its incarnation is of worker {worker}"))
        parts = self._check(new)
        good: list[Entry] = []
        for part, checked in parts:
            good += entries_of(part, checked)
            faults = zip(part, checked.faults, strict=True)
            refused += [(each, fault) for each, fault in faults if fault]
        packed = [checked.packed for _, checked in parts]
        done = [(each.sender, each.number) for each, _ in refused] + lost
        self._keep(uncounted + refused)
        self._report_lost(lost)
        num_before = log.position.num_episodes
        if good or done:
            self._disk.write(lambda: self._replay.insert(good, packed, done, self._syncs))
        num_new = log.position.num_episodes - num_before
        self.counts.num_episodes += num_new
        self.counts.num_duplicates += len(good) - num_new

    def clear(self, cleared: Sequence[tuple[Sender, int]]) -> None:
        """Logs spool numbers whose episodes were cleared from the queue as done."""
        self._disk.write(lambda: self._replay.log.append([], cleared, sync=self._syncs))

    def withdraw(self, ids: Collection[EpisodeId]) -> None:
        """Takes episodes out of training."""
        num_samples = 0

        def withdraw() -> None:
            nonlocal num_samples
            num_samples = self._replay.withdraw(ids)

        self._disk.write(withdraw)
        self.counts.num_withdrawn_samples += num_samples

    def count_lost(self, marks: Mapping[Sender, int]) -> None:
        """Compares the marks of the bus with the log, and reports which numbers the log lacks
        because it was restored from an older copy. They count as done, since their senders have
        deleted them."""
        lost = self._replay.log.lost_below(marks)
        for sender, count in lost.items():
            self.counts.num_lost += count
            self._say(
                f"episodes: {count:,} games of {sender.worker} are lost: they were logged once, "
                "and this log, restored from an older copy, lacks them"
            )

    def close(self) -> None:
        self._pool.shutdown()

    def _check(
        self, deliveries: Sequence[Delivery]
    ) -> list[tuple[Sequence[Delivery], CheckedEpisodes]]:
        """Deliveries in parts of consecutive ones, each checked by a thread."""
        per_thread = max(MIN_PER_THREAD, -(-len(deliveries) // self._num_threads))
        parts = [
            deliveries[first : first + per_thread]
            for first in range(0, len(deliveries), per_thread)
        ]
        if len(parts) <= 1:
            return [(part, self._check_part(part)) for part in parts]
        return list(zip(parts, self._pool.map(self._check_part, parts), strict=True))

    def _check_part(self, part: Sequence[Delivery]) -> CheckedEpisodes:
        workers = [each.sender.incarnation for each in part]
        return self._replay.check([each.episode for each in part], workers)

    def _report_lost(self, lost: Sequence[tuple[Sender, int]]) -> None:
        """Reports games that their senders say they do not have any more."""
        self.counts.num_lost += len(lost)
        for worker, count in Counter(sender.worker for sender, _ in lost).items():
            self._say(f"episodes: {count:,} games of {worker} are lost: its spool lacks them")

    def _keep(self, refused: Sequence[tuple[Delivery, str]]) -> None:
        if not refused:
            return
        for each in refused[-MAX_KEPT:]:
            self._disk.write(partial(self._refused.keep, *each))
        self.counts.num_refused += len(refused)
        self._num_unsaid += len(refused)
        if time.monotonic() - self._said_at_s >= SAY_INTERVAL_S:
            newest, reason = refused[-1]
            self._say(
                f"episodes: refused {self._num_unsaid:,}, the newest of "
                f"{newest.sender.worker[:MAX_WORKER_ID]}: {reason}; see {self._refused.folder}"
            )
            self._num_unsaid = 0
            self._said_at_s = time.monotonic()


def fault_of_sender(delivery: Delivery) -> str | None:
    """Why the log cannot even count it as done."""
    sender, number = delivery.sender, delivery.number
    if not 0 < len(sender.worker) <= MAX_WORKER_ID:
        return f"its worker's id has {len(sender.worker):,} characters, not 1 to {MAX_WORKER_ID}"
    if not 0 <= sender.incarnation < 2**64:
        return f"its incarnation {sender.incarnation} has more than 64 bits"
    if not 0 <= number < MAX_NUMBER:
        return f"its spool number {number} is not from 0 to {MAX_NUMBER - 1}"
    return None


def entries_of(deliveries: Sequence[Delivery], checked: CheckedEpisodes) -> list[Entry]:
    """The good ones as the log takes them."""
    good = [each for each, fault in zip(deliveries, checked.faults, strict=True) if not fault]
    num_rows = checked.packed.num_rows.tolist()
    return [
        Entry(each.episode, *episode_id, count, version, each.number, each.sender.worker)
        for each, episode_id, count, version in zip(
            good, checked.ids, num_rows, checked.versions, strict=True
        )
    ]


class RefusedFolder:
    """The newest refused episodes, NUMBER.episode, each with the reason in NUMBER.txt."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        numbers = [int(path.stem) for path in folder.glob("[0-9]*.txt") if path.stem.isdecimal()]
        self._next = max(numbers, default=0) + 1

    def keep(self, delivery: Delivery, reason: str) -> None:
        self.folder.mkdir(exist_ok=True)
        sender, num_bytes = delivery.sender, len(delivery.episode)
        text = (
            f"{reason}\n\nworker {sender.worker[:MAX_WORKER_ID]!r}, incarnation "
            f"{sender.incarnation}, spool number {delivery.number}\n{num_bytes:,} bytes, the first "
            f"{min(num_bytes, MAX_KEPT_BYTES):,} are in {self._next}.episode\n"
        )
        self._path(self._next, "episode").write_bytes(delivery.episode[:MAX_KEPT_BYTES])
        self._path(self._next, "txt").write_text(text, errors="backslashreplace")
        for ending in ("episode", "txt"):
            self._path(self._next - MAX_KEPT, ending).unlink(missing_ok=True)
        self._next += 1

    def _path(self, number: int, ending: str) -> Path:
        return self.folder / f"{number}.{ending}"
