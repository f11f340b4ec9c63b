"""Takes a worker's finished games, and says whether it may play.

`DirectOutbox` is for a run in one process. `SpooledOutbox` is for a fleet: games go to disk first,
and a background thread sends them until the trainer has confirmed each.
"""

import random
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from zerofleet.bus import Bus, BusFull, BusRefused, BusUnreachable, Delivery, Pace, Sender
from zerofleet.config import Config
from zerofleet.errors import DiskFull
from zerofleet.games import Episode, Game
from zerofleet.printing import size_text
from zerofleet.selfplay.spool import GrowingSpool, Spool, older_spools

POLL_S = 1.0
"""How often a fleet's outbox asks for marks, and whether an operator holds its worker."""

POLL_TO_END_S = 0.1
"""The same while it waits for its last marks."""

SEND_INTERVAL_S = 0.05
"""For so long games are collected and sent together."""

BATCH_EPISODES = 1024
BATCH_BYTES = 1 << 20
"""Sent in one call, at most."""

BYTES_PER_RECEIPT = 1 << 19
"""Sent, give or take a batch, before the outbox asks for room again: others send too."""

FIRST_RETRY_S = 0.5
LONGEST_RETRY_S = 10.0
"""Bounds of the pause after a call that failed. It doubles each time, and a random part of it is
waited: workers that lost their server together return one after another."""

SEGMENTS_IN_SPOOL = 16
"""A full spool has about this many files, so that little is kept longer than needed."""


class Outbox(Protocol):
    """What a worker hands its games to."""

    def send(self, episodes: Sequence[bytes]) -> None:
        """Takes finished games. They are on their way to the trainer when this returns."""

    def wait_to_play(self, timeout_s: float) -> bool:
        """Whether new moves may be made; waits until they may, up to the timeout."""

    @property
    def why_paused(self) -> str:
        """Why no new moves may be made, in a few words; empty while they may."""


class DirectOutbox:
    """Hands games to a bus in the same process, which plays at the trainer's pace."""

    def __init__(self, bus: Bus, sender: Sender) -> None:
        self._bus = bus
        self._sender = sender
        self._num_sent = 0

    def send(self, episodes: Sequence[bytes]) -> None:
        first = self._num_sent
        self._num_sent += len(episodes)
        self._bus.send_episodes(
            [Delivery(self._sender, first + i, data) for i, data in enumerate(episodes)]
        )

    def wait_to_play(self, timeout_s: float) -> bool:
        return self._bus.wait_to_play(timeout_s)

    @property
    def why_paused(self) -> str:
        return pace_text(self._bus.pace())


@dataclass(eq=False)
class Batch:
    """Numbers that were sent within a moment: first…end-1."""

    first: int
    end: int
    begun_at_s: float
    sent_at_s: float
    """The last of them."""
    due_at_s: float
    """When they are looked for, unless their mark has passed them."""
    is_repeated: bool


@dataclass
class Stream:
    """A spool on its way to the trainer."""

    spool: Spool
    next: int
    """The first number that was never sent."""
    in_flight: list[Batch] = field(default_factory=list)
    lost: list[Batch] = field(default_factory=list)
    """To be sent again."""
    forgotten: range = range(0)
    """Numbers that are not on disk any more and that the trainer lacks."""
    room_bytes: int = 0
    """How much more may be sent before the bus is asked again."""

    def sent(self, first: int, end: int, due_after_s: float, is_repeated: bool) -> None:
        now_s = time.monotonic()
        newest = self.in_flight[-1] if self.in_flight else None
        if (
            newest is not None
            and (newest.end, newest.is_repeated) == (first, is_repeated)
            and now_s < newest.begun_at_s + POLL_S
        ):
            newest.end, newest.sent_at_s = end, now_s
        else:
            self.in_flight.append(Batch(first, end, now_s, now_s, now_s + due_after_s, is_repeated))
        self.next = max(self.next, end)

    def forget_below(self, number: int) -> None:
        self.next = max(self.next, number)
        self.in_flight = [batch for batch in self.in_flight if batch.end > number]
        self.lost = [batch for batch in self.lost if batch.end > number]
        for batch in self.lost:
            batch.first = max(batch.first, number)


class SpooledOutbox:
    """Loses no game that `send` has taken, whatever process dies; with its machine it loses at most
    what was spooled since the last fsync (`replay.fsync_interval_s`).

    Games are sent in order, in batches. Those that were sent `fleet.resend_after_s` ago, or before
    the server was out of reach, and are neither confirmed nor waiting in the bus, are sent again;
    so are all that older spools of the same run hold. While the disk is full finished games stay in
    memory and no new moves are made.
    """

    def __init__(
        self,
        bus: Bus,
        sender: Sender,
        run_id: str,
        game: Game,
        config: Config,
        root: Path,
        say: Callable[[str], None],
        on_fault: Callable[[BaseException], None],
    ) -> None:
        """Opens spools under `root` (see spool.spool_root). `on_fault` is called in the thread that
        sends."""
        self._bus = bus
        self._sender = sender
        self._run_id = run_id
        self._game = game
        self._settings = config.fleet
        self._say = say
        self._on_fault = on_fault
        older, faults = older_spools(root, run_id)
        for fault in faults:
            say(f"spool: {fault}")
        if older:
            num_games = sum(each.num_unconfirmed for each in older)
            say(f"spool: sends {num_games:,} games of {len(older)} earlier starts")
        segment_bytes = min(
            config.replay.segment_bytes, config.fleet.max_spool_bytes // SEGMENTS_IN_SPOOL
        )
        self._own = GrowingSpool(
            root, run_id, sender, segment_bytes, config.replay.fsync_interval_s
        )
        self._streams = [Stream(each, each.first) for each in [*older, self._own]]

        self._lock = threading.Lock()  # guards spools, streams' bounds and counts
        self._syncing = threading.Lock()
        self._unwritten: list[tuple[bytes, int]] = []
        self._counts = dict.fromkeys(("games", "rows", "sent", "resent", "confirmed"), 0)

        # Of the thread that sends.
        self._trouble = ""
        self._disk_trouble = ""
        self._held = ""
        self._num_failures = 0
        self._poll_at_s = 0.0
        self._is_closing = False
        self._wake = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="outbox", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def send(self, episodes: Sequence[bytes]) -> None:
        """Writes games to the spool; on a full disk, keeps them until there is room."""
        counted = [(each, self._num_rows(each)) for each in episodes]
        with self._lock:
            self._unwritten += counted
            self._counts["games"] += len(counted)
            self._counts["rows"] += sum(rows for _, rows in counted)
            self._write()
        self._wake.set()

    def sync(self) -> None:
        """Returns when everything that `send` has taken is on the disk itself (fsync). DiskFull
        where it is not."""
        with self._lock:
            self._write()
            if self._unwritten:
                raise DiskFull(self._disk_trouble)
        with self._syncing:
            self._own.sync()

    def wait_to_play(self, timeout_s: float) -> bool:
        if not (why := self.why_paused):
            return True
        if why == pace_text(self._bus.pace()):
            self._bus.wait_to_play(timeout_s)
        else:
            self._ended.wait(timeout_s)
        return not self.why_paused

    @property
    def why_paused(self) -> str:
        if self._is_closing:
            return "draining"
        if self._held:
            return f"held: {self._held}"
        if self._disk_trouble:
            return self._disk_trouble
        rows, num_bytes = self._unconfirmed()
        if num_bytes >= self._settings.max_spool_bytes:
            return f"spool full: {size_text(num_bytes)} unconfirmed (fleet.max_spool_bytes)"
        if (pace := self._bus.pace()) is not None:
            return pace_text(pace)
        if rows < self._settings.play_ahead_rows:
            return ""
        away = "trainer away" if self._bus.reachable else "Redis out of reach"
        return f"{away}, {rows:,} rows ahead (fleet.play_ahead_rows)"

    def values(self) -> dict[str, float]:
        """Figures by name, as role_metrics.py declares them."""
        rows, num_bytes = self._unconfirmed()
        with self._lock:
            return {
                **self._counts,
                "unconfirmed_rows": rows,
                "spool_bytes": num_bytes,
                "max_spool_bytes": self._settings.max_spool_bytes,
                "held": bool(self._held),
                "trainer_away": self._bus.pace() is None,
            }

    def close(self, timeout_s: float) -> int:
        """Sends the rest and waits for the trainer to confirm it, at most so long.

        Returns how many games it has not confirmed; they stay on disk for the next start. Raises
        DiskFull where finished games could not even be written.
        """
        self._is_closing = True
        self._wake.set()
        end_s = time.monotonic() + timeout_s
        while time.monotonic() < end_s and self._thread.is_alive() and self._num_unconfirmed():
            self._ended.wait(POLL_TO_END_S)
        self._ended.set()
        self._wake.set()
        if self._thread.ident is not None:  # else it was never started
            self._thread.join()
        with self._lock:
            self._write()
            num_left = sum(stream.spool.num_unconfirmed for stream in self._streams)
            for stream in self._streams:
                stream.spool.close()
            if self._unwritten:
                raise DiskFull(f"{len(self._unwritten)} games are lost: {self._disk_trouble}")
        return num_left

    # ---- any thread

    def _num_rows(self, data: bytes) -> int:
        """Rows that training derives from a game: see cpp/record/rows.h."""
        episode = Episode.decode(data)
        if episode.outcome_first_player < 0:
            return 0
        return len(episode.events) * (2 if self._game.hidden else 1)

    def _unconfirmed(self) -> tuple[int, int]:
        """Rows and bytes."""
        with self._lock:
            spools = [stream.spool for stream in self._streams]
            return (
                sum(each.unconfirmed_rows for each in spools),
                sum(each.unconfirmed_bytes for each in spools),
            )

    def _num_unconfirmed(self) -> int:
        with self._lock:
            num_spooled = sum(stream.spool.num_unconfirmed for stream in self._streams)
            return num_spooled + len(self._unwritten)

    def _write(self) -> None:
        """Moves games from memory to the spool. The lock is held."""
        if not self._unwritten:
            return
        try:
            self._own.append(self._unwritten)
            self._unwritten.clear()
            self._disk_trouble = ""
        except DiskFull as fault:
            if not self._disk_trouble:
                self._say(f"paused: {fault}")
            self._disk_trouble = str(fault)

    # ---- the thread that sends

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                with self._lock:
                    self._write()
                self._sync()
                self._wake.clear()
                try:
                    self._exchange()
                except (BusUnreachable, BusFull) as fault:
                    self._back_off(fault)
                else:
                    self._rest()
        except BaseException as fault:
            self._on_fault(fault)

    def _sync(self) -> None:
        if self._own.sync_is_due:
            try:
                with self._syncing:
                    self._own.sync()
            except DiskFull as fault:
                self._say(f"spool: not synced: {fault}")

    def _exchange(self) -> None:
        """Asks what the trainer has, and sends what it has not."""
        asks = self._is_closing or time.monotonic() >= self._poll_at_s
        if asks:
            self._held = self._bus.held(self._sender.worker)
        for stream in list(self._streams):
            try:
                if asks:
                    self._ask(stream)
                    self._poll_at_s = time.monotonic() + POLL_S
                while time.monotonic() < self._poll_at_s and self._send_batch(stream):
                    pass
            except BusRefused as fault:
                if stream.spool.sender.worker == self._sender.worker:
                    raise
                self._say(f"{stream.spool.folder} is left for its own worker: {fault}")
                self._close_stream(stream)
            else:
                if stream.spool is not self._own and not stream.spool.num_unconfirmed:
                    self._close_stream(stream)
        if self._bus.reachable:  # else there was nothing to ask or to send
            self._num_failures = 0
            self._report("")

    def _rest(self) -> None:
        """Until games come, or it is time to ask again; then a little longer, for more games."""
        if self._is_closing:
            self._ended.wait(POLL_TO_END_S)
        elif self._wake.wait(max(0.0, self._poll_at_s - time.monotonic())):
            self._ended.wait(SEND_INTERVAL_S)

    def _back_off(self, fault: BusUnreachable | BusFull) -> None:
        self._report(str(fault))
        longest_s = min(LONGEST_RETRY_S, FIRST_RETRY_S * 2**self._num_failures)
        self._num_failures += 1
        if isinstance(fault, BusUnreachable):
            for stream in self._streams:
                for batch in stream.in_flight:
                    batch.due_at_s = 0.0  # the server may have lost them
        self._ended.wait(longest_s * random.random())

    def _report(self, trouble: str) -> None:
        if trouble and not self._trouble:
            self._say(f"games stay on this disk: {trouble}")
        elif self._trouble and not trouble:
            self._say("games are sent again")
        self._trouble = trouble

    def _ask(self, stream: Stream) -> None:
        """Drops what is confirmed, and finds what was lost in transit."""
        if not stream.spool.num_unconfirmed:
            stream.room_bytes = 1  # nothing to ask about before the first batch
            return
        now_s = time.monotonic()
        due = [batch for batch in stream.in_flight if now_s >= batch.due_at_s]
        receipt = self._bus.receipt(stream.spool.sender)
        mark = receipt.mark
        room_bytes = receipt.room_bytes(self._settings.max_backlog_bytes)
        stream.room_bytes = min(room_bytes, BYTES_PER_RECEIPT)
        with self._lock:
            self._counts["confirmed"] += stream.spool.confirm(mark)
        for batch in due:
            batch.due_at_s = now_s + self._settings.resend_after_s
        # The bus has nothing that old.
        lost = [batch for batch in due if now_s - batch.sent_at_s > receipt.oldest_waiting_s]
        stream.in_flight = [batch for batch in stream.in_flight if batch not in lost]
        stream.lost += lost
        was_repeated = any(batch.is_repeated for batch in lost)
        if mark < stream.spool.first and was_repeated and self._bus.pace() is not None:
            # It took them twice and its mark is still below what it had confirmed before.
            self._say(
                f"the trainer lacks games {mark} to {stream.spool.first - 1} of "
                f"{stream.spool.sender.worker}, which it had confirmed: its log is an older copy"
            )
            stream.forgotten = range(mark, stream.spool.first)
        stream.forget_below(stream.spool.first)

    def _close_stream(self, stream: Stream) -> None:
        with self._lock:
            self._streams.remove(stream)
        stream.spool.close()

    def _send_batch(self, stream: Stream) -> bool:
        """Sends the next batch of a stream; False where there is none, or no room for it."""
        again = stream.lost[0] if stream.lost else None
        first, end = (stream.next, stream.spool.end) if again is None else (again.first, again.end)
        if (first >= end and not stream.forgotten) or stream.room_bytes <= 0:
            return False
        sender = stream.spool.sender
        if numbers := stream.forgotten[:BATCH_EPISODES]:
            # No bytes: the trainer counts their numbers as done.
            self._bus.send_episodes(
                [Delivery(sender, number, b"", self._run_id) for number in numbers]
            )
            stream.forgotten = stream.forgotten[BATCH_EPISODES:]
            return True
        with self._lock:
            episodes = stream.spool.read(first, min(BATCH_EPISODES, end - first), BATCH_BYTES)
        self._bus.send_episodes(
            [
                Delivery(sender, first + i, episode, self._run_id)
                for i, episode in enumerate(episodes)
            ]
        )
        stream.room_bytes -= sum(map(len, episodes))
        if stream.room_bytes <= 0:
            self._poll_at_s = 0.0  # ask again
        end = first + len(episodes)
        stream.sent(first, end, self._settings.resend_after_s, again is not None)
        if again is not None:
            again.first = end
            if again.first == again.end:
                stream.lost.remove(again)
        with self._lock:
            self._counts["sent"] += len(episodes)
            self._counts["resent"] += 0 if again is None else len(episodes)
        return True


def pace_text(pace: Pace | None) -> str:
    """Why a pace allows no play; empty where it does."""
    if pace is None or pace.allows_play:
        return ""
    return f"trainer paused: {pace.paused}" if pace.paused else "waits for training"
