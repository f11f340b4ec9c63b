"""The trainer's side of Redis: the lease, and everything that only its holder may write.

A background thread renews the lease and refreshes the pace, also while the trainer compiles or
saves. What was published is remembered and published again after a lost connection, so that a Redis
that lost its last second, or everything, serves the run as before. All entries are then delivered
again; the trainer knows by their ids which it has logged.
"""

import hashlib
import json
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from itertools import groupby
from typing import Any, TypeVar

from zerofleet.bus import scripts
from zerofleet.bus.contract import (
    NUM_RECENT_WEIGHTS,
    Block,
    BusFull,
    BusRefused,
    BusUnreachable,
    Delivery,
    NotTheTrainer,
    Pace,
    PublishedWeights,
    Sender,
)
from zerofleet.bus.keys import checked_name
from zerofleet.bus.link import NoLease, RedisLink, taken_over
from zerofleet.errors import TooLarge

T = TypeVar("T")

RENEW_S = 1.0
"""How often the lease is renewed and the pace refreshed at least."""
MIN_PACE_INTERVAL_S = 0.05
MAX_PACE_MESSAGES_PER_S = 10_000
"""To all listeners together: the more there are, the less often the pace is announced."""
RETRY_S = 0.2
MAX_RECEIVED_BYTES = 32 << 20
MAX_RECEIVED_ENTRIES = 4096
"""Of one call, so that a long backlog never fills the trainer's memory."""
MAX_EPISODE_BYTES = 4 << 20
"""The core decodes no longer ones."""
MAX_TASK_BYTES = 16 << 20
MAX_VALUE_BYTES = 500 << 20
"""Redis takes no value of more than 512 MiB."""
AT_ONCE = 2000
"""Arguments of one call to a script: Lua has a bound."""


class Leader:
    """The trainer of a run, as long as no other process has taken the lease."""

    def __init__(self, link: RedisLink, host: str, timeout_s: float, run_id: str) -> None:
        self.host = host
        self.epoch = 0
        self.num_malformed = 0
        """Entries that were dropped because they were no deliveries, or of another run."""
        self.num_published = 0
        """Versions of weights; not counted are those that were published again to restore a run."""
        self._link = link
        self._timeout_s = timeout_s
        self._run_id = run_id
        self._token = secrets.token_hex(16)
        self._lock = threading.Lock()
        """Of what was received and taken; never held during a call."""
        self._publishing = threading.RLock()
        """Held during a call: weights take long, and no other call waits for them."""
        self._fault: NotTheTrainer | None = None
        self._needs_restore = False
        self._num_restores = 0
        self._delivers_anew = True
        self._first_worker = 0
        self._entries: dict[tuple[Sender, int], set[bytes]] = {}
        """Ids of received entries by delivery; one that was sent twice has two."""
        self._taken: dict[str, int] = {}
        """How many of the first in a list were taken: the next call drops them."""
        self._has_ended = False
        self._facts: bytes | None = None
        self._graph: bytes | None = None
        self._weights: PublishedWeights | None = None
        self._kept: list[PublishedWeights] = []
        self._marks: dict[Sender, int] = {}
        self._blocks: dict[tuple[str, int], Block] = {}
        self.pace: Pace | None = None
        self._pace_changed = threading.Event()
        self._announced: tuple[bool, str] | None = None
        """What the announced pace allows."""
        self._announced_at_s = self._may_announce_at_s = 0.0
        self._num_listeners = 0
        """Of the last announcement."""
        self._closed = threading.Event()
        self._take_lease()
        link.returns_first = True
        self._thread = threading.Thread(target=self._keep, name="lease", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Releases the lease: another trainer may start immediately."""
        self._closed.set()
        self._pace_changed.set()
        self._thread.join()
        with suppress(BusUnreachable, BusRefused):  # it expires by itself
            self._link.script(scripts.RESIGN, [self._link.keys.trainer], [self._token])

    # ---- the lease

    def _take_lease(self) -> None:
        keys = self._link.keys
        timeout_ms = round(self._timeout_s * 1000)
        has_led = int(self.epoch > 0)
        arguments = [self._token, self.host, timeout_ms, self.epoch + 1, has_led]
        prefixes = [keys.episodes(""), keys.weights_of(""), keys.blocks(""), keys.leases]
        arguments += [self._run_id, *prefixes, keys.results(""), keys.returns("")]
        of_run = [keys.senders, keys.recent, keys.kept, keys.ratings, keys.run, keys.graph]
        of_run += [keys.pace, keys.weights, keys.cleared, keys.withdrawals]
        names = [keys.trainer, keys.ended, *of_run]
        epoch, *holder = self._link.script(scripts.LEAD, names, arguments)
        if not epoch:
            host, left_ms = holder[0].decode(), holder[1]
            if has_led:
                raise taken_over(host)
            raise NotTheTrainer(
                f"{host} trains this run; unless it renews its lease, another trainer may start in "
                f"{left_ms / 1000:.1f} s"
            )
        self.epoch = epoch

    def _leading(self, call: Callable[[], T]) -> T:
        """Makes a call that checks the lease; where Redis was emptied, first restores the run."""
        if self._fault is not None:
            raise self._fault
        try:
            try:
                return call()
            except NoLease:
                self._restore()
                return call()
        except NotTheTrainer as fault:
            self._fault = fault
            raise

    def _script(self, text: str, keys: Sequence[str], arguments: Iterable[Any]) -> Any:
        all_keys = [self._link.keys.trainer, *keys]
        all_arguments = [self._token, *arguments]
        return self._leading(lambda: self._link.script(text, all_keys, all_arguments))

    def _restore(self) -> None:
        """Takes the lease again, unless another has it, and publishes all that is remembered."""
        with self._publishing:
            self._needs_restore = True
            self._take_lease()
            with self._lock:
                self._num_restores += 1
                self._delivers_anew = True
                self._taken.clear()
            if self._facts is not None:
                self.publish_run(self._facts)
            if self._graph is not None:
                self.publish_graph(self._graph)
            if self._marks:
                self.set_marks(self._marks)
            if self._kept:
                self.keep_weights(self._kept)
            weights = self._weights
            if weights is not None and self._version_in_redis() != weights.version:
                self._publish(weights, weights.version)
            if self._blocks:
                self.add_blocks(list(self._blocks.values()))
            if self._has_ended:
                self.end_run()
            self._announced = None
            self._needs_restore = False

    def _version_in_redis(self) -> int | None:
        key = self._link.keys.weights
        version = self._link.call(lambda client: client.hget(key, "version"))
        return None if version is None else int(version)

    def _keep(self) -> None:
        num_breaks = self._link.num_breaks
        while not self._closed.wait(MIN_PACE_INTERVAL_S):
            self._pace_changed.wait(min(RENEW_S, self._timeout_s / 3))
            self._pace_changed.clear()
            try:
                breaks_before = self._link.num_breaks
                if self._needs_restore or breaks_before != num_breaks:
                    self._leading(self._restore)
                    num_breaks = breaks_before
                self._renew()
            except NotTheTrainer:
                return  # every later call raises it
            except (BusUnreachable, BusFull, BusRefused):
                self._closed.wait(RETRY_S)

    def _renew(self) -> None:
        """Renews the lease and writes the pace. Workers poll the pace: it is announced when what it
        allows changes, and a few times within its time-out."""
        pace, text, now_s = self.pace, "", time.monotonic()
        announces = False
        if pace is not None:
            facts = {"timeout_s": self._timeout_s, "listeners": self._num_listeners}
            text = json.dumps(asdict(pace) | facts)[:-1]
            allows = pace.allows_play, pace.paused
            is_due = now_s - self._announced_at_s >= self._timeout_s / 3
            announces = now_s >= self._may_announce_at_s and (is_due or allows != self._announced)
        keys, timeout_ms = self._link.keys, round(self._timeout_s * 1000)
        arguments = [timeout_ms, text, int(announces)]
        num_listeners = self._script(scripts.KEEP, [keys.pace, keys.announce], arguments)
        if announces:
            self._announced, self._announced_at_s = allows, now_s
            self._num_listeners = num_listeners
            self._may_announce_at_s = now_s + num_listeners / MAX_PACE_MESSAGES_PER_S

    def set_pace(self, pace: Pace) -> None:
        if self._fault is not None:
            raise self._fault
        if pace != self.pace:
            self.pace = pace
            self._pace_changed.set()

    # ---- the run

    def publish_run(self, facts: bytes) -> None:
        checked_size("the facts of the run", facts, MAX_TASK_BYTES)
        keys = self._link.keys
        self._script(scripts.PUBLISH, [keys.announce, keys.run], ["run", facts])
        self._facts = facts

    def publish_graph(self, graph: bytes) -> None:
        checked_size("the graph of the network", graph, MAX_VALUE_BYTES)
        keys, sha256 = self._link.keys, hashlib.sha256(graph).hexdigest()
        arguments = ["graph", "sha256", sha256, "data", graph]
        self._script(scripts.PUBLISH, [keys.announce, keys.graph], arguments)
        self._graph = graph

    def end_run(self) -> None:
        keys = self._link.keys
        self._script(scripts.END, [keys.announce, keys.ended], [])
        self._has_ended = True

    # ---- episodes

    def receive(self) -> list[Delivery]:
        try:
            malformed, *groups = self._leading(self._receive)
        except BaseException:
            self._delivers_anew = True  # the answer may be lost, the entries are then pending
            raise
        self.num_malformed += malformed
        deliveries = []
        with self._lock:
            for name, *fields in groups:
                worker = name.decode()
                for at in range(0, len(fields), 5):
                    entry, incarnation, number, episode, run = fields[at : at + 5]
                    sender = Sender(worker, int(incarnation))
                    delivery = Delivery(sender, int(number), episode, run.decode(errors="replace"))
                    key = (delivery.sender, delivery.number)
                    self._entries.setdefault(key, set()).add(entry)
                    deliveries.append(delivery)
        return deliveries

    def _receive(self) -> Any:
        anew, self._delivers_anew = self._delivers_anew, False
        self._first_worker += 1
        keys = self._link.keys
        bounds = [MAX_RECEIVED_BYTES, MAX_RECEIVED_ENTRIES, MAX_EPISODE_BYTES]
        arguments = [self._token, keys.episodes(""), *bounds, self._first_worker, int(anew)]
        arguments.append(self._run_id)
        return self._link.script(scripts.RECEIVE, [keys.trainer, keys.senders], arguments)

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        names = {(each.sender, each.number) for each in deliveries}
        with self._lock:
            entries = [
                (name, entry) for name in sorted(names) for entry in self._entries.get(name, ())
            ]
        for first in range(0, len(entries), AT_ONCE):
            part = entries[first : first + AT_ONCE]
            arguments: list[Any] = [self._link.keys.episodes("")]
            for worker, of_worker in groupby(part, lambda each: each[0][0].worker):
                ids = [entry for _, entry in of_worker]
                arguments += [worker, len(ids), *ids]
            self._script(scripts.ACKNOWLEDGE, [self._link.keys.senders], arguments)
            with self._lock:
                for name, entry in part:
                    self._entries[name].discard(entry)
                    if not self._entries[name]:
                        del self._entries[name]

    def set_marks(self, marks: Mapping[Sender, int]) -> None:
        keys, items = self._link.keys, list(marks.items())
        for first in range(0, len(items), AT_ONCE):
            part = items[first : first + AT_ONCE]
            arguments: list[Any] = []
            for sender, number in part:
                worker = checked_name("worker", sender.worker)
                arguments += [keys.marks(worker), sender.incarnation, number]
            self._script(scripts.SET_MARKS, [], arguments)
            for sender, number in part:
                self._marks[sender] = max(number, self._marks.get(sender, 0))

    def take(self, key: str) -> list[bytes]:
        """What was added to a list since the last call. It is dropped at the next call: the caller
        has logged it by then."""

        def call() -> Any:
            num_restores, dropped = self._num_restores, self._taken.get(key, 0)
            arguments = [self._token, dropped, AT_ONCE]
            found = self._link.script(scripts.TAKE, [self._link.keys.trainer, key], arguments)
            with self._lock:
                if num_restores == self._num_restores:
                    self._taken[key] = len(found)
            return found

        taken: list[bytes] = self._leading(call)
        return taken

    # ---- weights

    def publish_weights(self, step: int, sha256: str, data: bytes, at_least: int) -> int:
        checked_size("weights", data, MAX_VALUE_BYTES)
        with self._publishing:
            newest = self._weights
            smallest = at_least if newest is None else max(at_least, newest.version + 1)
            version = self._publish(PublishedWeights(0, step, sha256, data), smallest)
            self.num_published += 1
            return version

    def _publish(self, weights: PublishedWeights, smallest: int) -> int:
        keys = self._link.keys
        values = [smallest, weights.step, weights.sha256, weights.data, NUM_RECENT_WEIGHTS]
        version = int(
            self._script(
                scripts.PUBLISH_WEIGHTS,
                [keys.announce, keys.weights, keys.recent, keys.kept],
                [keys.weights_of(""), *values],
            )
        )
        self._weights = PublishedWeights(version, weights.step, weights.sha256, weights.data)
        self._link.see_version(version)
        return version

    def keep_weights(self, weights: Sequence[PublishedWeights]) -> None:
        keys = self._link.keys
        with self._publishing:
            arguments: list[Any] = [keys.weights_of("")]
            for each in weights:
                checked_size(f"weights {each.version}", each.data, MAX_VALUE_BYTES)
                name = keys.weights_of(each.version)
                is_there = self._link.call(lambda client, key: client.exists(key), name)
                data = b"" if is_there else each.data
                arguments += [each.version, each.step, each.sha256, data]
            self._script(scripts.KEEP_WEIGHTS, [keys.recent, keys.kept], arguments)
            self._kept = list(weights)

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        keys = self._link.keys
        for first in range(0, len(blocks), AT_ONCE):
            arguments: list[Any] = []
            for each in blocks[first : first + AT_ONCE]:
                checked_size(f"block {each.number} of {each.rating}", each.task, MAX_TASK_BYTES)
                arguments += [keys.blocks(each.rating), each.rating, each.number, each.task]
            self._script(scripts.ADD_BLOCKS, [keys.ratings], arguments)
        self._blocks |= {(each.rating, each.number): each for each in blocks}

    def drop_blocks(self, rating: str) -> None:
        keys = self._link.keys
        blocks = keys.blocks(rating)
        numbers = self._link.call(lambda client: client.hkeys(blocks))
        leases = [keys.lease(rating, number.decode()) for number in numbers]
        of_match = [blocks, keys.results(rating), keys.returns(rating), *leases]
        self._script(scripts.DROP_BLOCKS, [keys.ratings, *of_match], [rating])
        self._blocks = {key: block for key, block in self._blocks.items() if key[0] != rating}


def checked_size(what: str, data: bytes, max_bytes: int) -> None:
    if len(data) > max_bytes:
        raise TooLarge(f"{what}: {len(data):,} bytes; Redis takes at most {max_bytes:,}")


def lead(link: RedisLink, host: str, timeout_s: float, patience_s: float, run_id: str) -> Leader:
    """Takes the lease; waits so long for a trainer that may have died without giving it back, or
    for a Redis that is being restarted."""
    end_s = time.monotonic() + patience_s
    while True:
        try:
            return Leader(link, host, timeout_s, run_id)
        except (NotTheTrainer, BusUnreachable):
            if time.monotonic() >= end_s:
                raise
            time.sleep(RETRY_S)
