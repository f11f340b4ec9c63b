"""The bus of a run in one process."""

import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from zerofleet.bus.contract import (
    NUM_RECENT_WEIGHTS,
    Backlog,
    Block,
    BlockResult,
    Delivery,
    EpisodeId,
    FetchWeights,
    InferenceOffer,
    Pace,
    PublishedWeights,
    Receipt,
    RoleEntry,
    Sender,
    WeightsFacts,
)


class MemoryBus:
    """Implements `Bus` with one lock. A pace that nobody has set allows play."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler may stop the bus while its own thread holds the lock.
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._published = threading.Condition(lock)
        self._facts: bytes | None = None
        self._graph: bytes | None = None
        self._sent: list[Delivery] = []
        self._pending: dict[tuple[Sender, int], Delivery] = {}
        self._arrived_s: dict[tuple[Sender, int], float] = {}
        self._marks: dict[Sender, int] = {}
        self._cleared: list[tuple[Sender, int]] = []
        self._withdrawn: list[EpisodeId] = []
        self._weights: PublishedWeights | None = None
        self._kept: dict[int, PublishedWeights] = {}
        self._weights_at_s = 0.0
        self._versions: list[int] = []
        self._pace = Pace(rows_inserted=0, rows_allowed=0)
        self._held: dict[str, str] = {}
        self._roles: dict[str, RoleEntry] = {}
        self._registered_at_s: dict[str, float] = {}
        self._offers: dict[str, InferenceOffer] = {}
        self._blocks: dict[tuple[str, int], Block] = {}
        self._leased_until_s: dict[tuple[str, int], float] = {}
        self._results: dict[tuple[str, int], BlockResult] = {}
        self._returns: dict[str, set[str]] = {}
        self._stopping = False

    # ---- the run

    def publish_run(self, facts: bytes) -> None:
        with self._changed:
            self._facts = facts
            self._published.notify_all()

    def run_facts(self) -> bytes | None:
        with self._changed:
            return self._facts

    def publish_graph(self, graph: bytes) -> None:
        with self._changed:
            self._graph = graph
            self._published.notify_all()

    def graph(self) -> bytes | None:
        with self._changed:
            return self._graph

    def wait_for_news(self, timeout_s: float) -> None:
        with self._changed:
            self._published.wait(timeout_s)

    # ---- episodes

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        with self._changed:
            now_s = time.monotonic()
            for each in deliveries:
                self._arrived_s.setdefault((each.sender, each.number), now_s)
            self._sent.extend(deliveries)

    def receive_episodes(self) -> list[Delivery]:
        with self._changed:
            received, self._sent = self._sent, []
            self._pending |= {(each.sender, each.number): each for each in received}
            return received

    def acknowledge(self, deliveries: Sequence[Delivery]) -> None:
        with self._changed:
            for each in deliveries:
                self._pending.pop((each.sender, each.number), None)
                self._arrived_s.pop((each.sender, each.number), None)

    def set_marks(self, marks: Mapping[Sender, int]) -> None:
        with self._changed:
            for sender, number in marks.items():
                self._marks[sender] = max(number, self._marks.get(sender, 0))

    def mark(self, sender: Sender) -> int:
        with self._changed:
            return self._marks.get(sender, 0)

    def receipt(self, sender: Sender) -> Receipt:
        with self._changed:
            waiting = self.backlog_by_worker()
            own = waiting.get(sender.worker, Backlog(0, 0, 0.0))
            return Receipt(self.mark(sender), own.oldest_s, own.num_bytes, len(waiting))

    def backlog(self) -> Backlog:
        with self._changed:
            waiting = [*self._pending.values(), *self._sent]
            num_bytes = sum(len(each.episode) for each in waiting)
            now_s = time.monotonic()
            oldest_s = now_s - min(self._arrived_s.values(), default=now_s)
            return Backlog(len(waiting), num_bytes, oldest_s)

    def backlog_by_worker(self) -> dict[str, Backlog]:
        with self._changed:
            now_s = time.monotonic()
            sizes: dict[str, list[int]] = {}
            for each in [*self._pending.values(), *self._sent]:
                sizes.setdefault(each.sender.worker, []).append(len(each.episode))
            oldest_s = dict.fromkeys(sizes, 0.0)
            for (sender, _), arrived_s in self._arrived_s.items():
                oldest_s[sender.worker] = max(oldest_s[sender.worker], now_s - arrived_s)
            return {
                worker: Backlog(len(sizes[worker]), sum(sizes[worker]), oldest_s[worker])
                for worker in sorted(sizes)
            }

    def peek_episodes(self, max_count: int) -> list[Delivery]:
        with self._changed:
            waiting = [*self._pending.values(), *self._sent]
            return waiting[max(0, len(waiting) - max_count) :]

    def clear_backlog(self) -> int:
        with self._changed:
            waiting = [(each.sender, each.number) for each in self._sent]
            waiting += self._pending
            self._sent.clear()
            self._pending.clear()
            self._arrived_s.clear()
            self._cleared += waiting
            for sender, number in waiting:
                self._marks[sender] = max(number + 1, self._marks.get(sender, 0))
            return len(waiting)

    def take_cleared(self) -> list[tuple[Sender, int]]:
        with self._changed:
            taken, self._cleared = self._cleared, []
            return taken

    def withdraw(self, episodes: Collection[EpisodeId]) -> None:
        with self._changed:
            self._withdrawn.extend(episodes)

    def take_withdrawals(self) -> list[EpisodeId]:
        with self._changed:
            taken, self._withdrawn = self._withdrawn, []
            return taken

    # ---- weights and pace

    def publish_weights(self, step: int, sha256: str, data: bytes, at_least: int) -> int:
        with self._changed:
            newest = self._weights
            version = at_least if newest is None else max(at_least, newest.version + 1)
            self._weights = PublishedWeights(version, step, sha256, data)
            self._weights_at_s = time.monotonic()
            self._versions = [version, *self._versions[: NUM_RECENT_WEIGHTS - 1]]
            self._published.notify_all()
            return version

    @property
    def num_listeners(self) -> int:
        return 0

    def weights_version(self) -> int | None:
        with self._changed:
            return None if self._weights is None else self._weights.version

    def weights_facts(self) -> WeightsFacts | None:
        with self._changed:
            newest = self._weights
            if newest is None:
                return None
            return WeightsFacts(
                newest.version,
                newest.step,
                len(newest.data),
                time.monotonic() - self._weights_at_s,
                len({newest.version, *self._kept}),
            )

    def other_weights(
        self, version: int, fetch: FetchWeights | None = None
    ) -> PublishedWeights | None:
        with self._changed:
            newest = self._weights
            if newest is None or newest.version == version:
                return None
            newest = replace(newest, age_s=time.monotonic() - self._weights_at_s)
        return newest if fetch is None else replace(newest, data=fetch(newest.sha256))

    def keep_weights(self, weights: Sequence[PublishedWeights]) -> None:
        with self._changed:
            self._kept = {each.version: each for each in weights}

    def weights(self, version: int) -> PublishedWeights | None:
        with self._changed:
            newest = self._weights
            if newest is not None and newest.version == version:
                return newest
            return self._kept.get(version)

    def recent_versions(self) -> list[int]:
        with self._changed:
            return self._versions.copy()

    def set_pace(self, pace: Pace) -> None:
        with self._changed:
            self._pace = pace
            self._changed.notify_all()

    def pace(self) -> Pace | None:
        with self._changed:
            return self._pace

    def wait_to_play(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._pace.allows_play, timeout_s)

    def hold(self, worker: str, reason: str) -> None:
        with self._changed:
            self._held[worker] = reason
            self._changed.notify_all()

    def held(self, worker: str) -> str:
        with self._changed:
            return self._held.get("") or self._held.get(worker, "")

    # ---- registry

    def register(self, entry: RoleEntry) -> None:
        with self._changed:
            self._roles[entry.id] = entry
            self._registered_at_s[entry.id] = time.monotonic()

    def unregister(self, role_id: str) -> None:
        with self._changed:
            self._roles.pop(role_id, None)

    def roles(self) -> list[RoleEntry]:
        with self._changed:
            return [self._roles[role_id] for role_id in sorted(self._roles)]

    def heartbeats(self) -> dict[str, float]:
        with self._changed:
            now_s = time.monotonic()
            return {role_id: now_s - self._registered_at_s[role_id] for role_id in self._roles}

    def offer_inference(self, offer: InferenceOffer) -> None:
        with self._changed:
            self._offers[offer.id] = offer

    def end_offer(self, server_id: str) -> None:
        with self._changed:
            self._offers.pop(server_id, None)

    def inference_offers(self) -> list[InferenceOffer]:
        with self._changed:
            return [self._offers[server_id] for server_id in sorted(self._offers)]

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        with self._changed:
            self._blocks |= {(each.rating, each.number): each for each in blocks}

    def lease_block(self, lease_s: float, without: Collection[str] = ()) -> Block | None:
        now_s = time.monotonic()
        with self._changed:
            for key, block in self._blocks.items():
                is_free = self._leased_until_s.get(key, now_s) <= now_s
                if is_free and key not in self._results and block.rating not in without:
                    self._leased_until_s[key] = now_s + lease_s
                    return block
            return None

    def return_block(self, block: Block, reason: str) -> None:
        key = (block.rating, block.number)
        with self._changed:
            self._leased_until_s.pop(key, None)
            if reason and key in self._blocks:
                self._returns.setdefault(block.rating, set()).add(reason)

    def finish_block(self, result: BlockResult) -> bool:
        key = (result.rating, result.number)
        with self._changed:
            return key in self._blocks and self._results.setdefault(key, result) is result

    def block_results(self, rating: str) -> list[BlockResult]:
        with self._changed:
            keys = sorted(key for key in self._results if key[0] == rating)
            return [self._results[key] for key in keys]

    def block_returns(self, rating: str) -> list[str]:
        with self._changed:
            return sorted(self._returns.get(rating, ()))

    def ratings(self) -> list[str]:
        with self._changed:
            return list(dict.fromkeys(rating for rating, _ in self._blocks))

    def drop_blocks(self, rating: str) -> None:
        with self._changed:
            for key in [key for key in self._blocks if key[0] == rating]:
                del self._blocks[key]
                self._leased_until_s.pop(key, None)
                self._results.pop(key, None)
            self._returns.pop(rating, None)

    # ---- the end

    def server_figures(self) -> None:
        return None

    @property
    def reachable(self) -> bool:
        return True

    def stop(self) -> None:
        with self._changed:
            self._stopping = True
            self._changed.notify_all()
            self._published.notify_all()

    def end_run(self) -> None:
        self.stop()

    @property
    def stopping(self) -> bool:
        with self._changed:
            return self._stopping
