"""The bus of a run in one process."""

import threading
import time
from collections.abc import Collection, Mapping, Sequence

from zerofleet.bus.contract import (
    Block,
    BlockResult,
    Delivery,
    EpisodeId,
    Pace,
    PublishedWeights,
    RoleEntry,
)


class MemoryBus:
    """Implements `Bus` with one lock. A pace that nobody has set allows play."""

    def __init__(self) -> None:
        # Re-entrant: a signal handler may stop the bus while its own thread holds the lock.
        self._changed = threading.Condition(threading.RLock())
        self._sent: list[Delivery] = []
        self._pending: dict[tuple[int, int], Delivery] = {}
        self._marks: dict[int, int] = {}
        self._withdrawn: list[EpisodeId] = []
        self._weights: PublishedWeights | None = None
        self._pace = Pace(rows_inserted=0, rows_allowed=0)
        self._roles: dict[str, RoleEntry] = {}
        self._blocks: dict[tuple[str, int], Block] = {}
        self._leased_until_s: dict[tuple[str, int], float] = {}
        self._results: dict[tuple[str, int], BlockResult] = {}
        self._stopping = False

    # ---- episodes

    def send_episodes(self, deliveries: Sequence[Delivery]) -> None:
        with self._changed:
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

    def set_marks(self, marks: Mapping[int, int]) -> None:
        with self._changed:
            for sender, number in marks.items():
                self._marks[sender] = max(number, self._marks.get(sender, 0))

    def mark(self, sender: int) -> int:
        with self._changed:
            return self._marks.get(sender, 0)

    def withdraw(self, episodes: Collection[EpisodeId]) -> None:
        with self._changed:
            self._withdrawn.extend(episodes)

    def take_withdrawals(self) -> list[EpisodeId]:
        with self._changed:
            taken, self._withdrawn = self._withdrawn, []
            return taken

    # ---- weights and pace

    def publish_weights(self, weights: PublishedWeights) -> None:
        with self._changed:
            self._weights = weights

    def other_weights(self, version: int) -> PublishedWeights | None:
        with self._changed:
            newest = self._weights
            return None if newest is None or newest.version == version else newest

    def set_pace(self, pace: Pace) -> None:
        with self._changed:
            self._pace = pace
            self._changed.notify_all()

    def wait_to_play(self, timeout_s: float) -> bool:
        with self._changed:
            return self._changed.wait_for(lambda: self._pace.allows_play, timeout_s)

    # ---- registry

    def register(self, entry: RoleEntry) -> None:
        with self._changed:
            self._roles[entry.id] = entry

    def unregister(self, role_id: str) -> None:
        with self._changed:
            self._roles.pop(role_id, None)

    def roles(self) -> list[RoleEntry]:
        with self._changed:
            return [self._roles[role_id] for role_id in sorted(self._roles)]

    # ---- rating

    def add_blocks(self, blocks: Sequence[Block]) -> None:
        with self._changed:
            self._blocks |= {(each.rating, each.number): each for each in blocks}

    def lease_block(self, lease_s: float) -> Block | None:
        now_s = time.monotonic()
        with self._changed:
            for key, block in self._blocks.items():
                if key not in self._results and self._leased_until_s.get(key, now_s) <= now_s:
                    self._leased_until_s[key] = now_s + lease_s
                    return block
            return None

    def finish_block(self, result: BlockResult) -> bool:
        key = (result.rating, result.number)
        with self._changed:
            return self._results.setdefault(key, result) is result

    def block_results(self, rating: str) -> list[BlockResult]:
        with self._changed:
            keys = sorted(key for key in self._results if key[0] == rating)
            return [self._results[key] for key in keys]

    # ---- the end

    def stop(self) -> None:
        with self._changed:
            self._stopping = True

    @property
    def stopping(self) -> bool:
        with self._changed:
            return self._stopping
