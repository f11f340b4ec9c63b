"""Fetches published weights for a worker of a fleet."""

import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from zerofleet.bus import Bus, BusUnreachable, FetchWeights
from zerofleet.config import FleetConfig
from zerofleet.errors import ZerofleetError
from zerofleet.infer import Pipeline
from zerofleet.selfplay.worker import OnFault, WeightsFeed
from zerofleet.weights import BadWeights, checked_tensors, encoded_tensors

POLL_WEIGHTS_S = 0.5
"""Longest wait for an announcement; then the published version is looked at without one."""

FETCHES_PER_S = 200
"""Of all workers together: each waits for a random part of the time that this takes. Redis holds a
copy of the weights for each that fetches at the same moment."""

RETRY_S = 2.0
"""Longest pause after a fetch that failed; a random part of it is waited."""


class FleetWeightsFeed(WeightsFeed):
    """Refuses bad weights by name while the old ones keep serving, and holds back a worker that is
    too far behind what is published.

    A worker is behind once its feed has seen a newer publication and has not loaded it yet: by more
    than `fleet.max_versions_behind` versions or `fleet.max_seconds_behind` seconds it stops. It
    keeps playing with what it has while the bus cannot be reached, and where the newest were
    refused.
    """

    def __init__(
        self,
        bus: Bus,
        version: int,
        is_stopping: Callable[[], bool],
        on_fault: OnFault,
        settings: FleetConfig,
        say: Callable[[str], None],
        sha256: str = "",
        fetch: FetchWeights | None = None,
    ) -> None:
        """`version` and `sha256` are those of the weights that the workers begin with. `fetch` gets
        others from elsewhere than the bus; it raises ConnectionError while that is not there."""
        super().__init__(bus, version, is_stopping, on_fault)
        self._settings = settings
        self._fetch_bytes = fetch
        self._say = say
        self._lock = threading.Lock()  # workers load in threads of their own
        self._good = self._newest
        """What some worker has loaded last."""
        self._hashed = (version, sha256)
        self._refused: set[int] = set()
        self._num_loaded = 0
        self._newer: set[int] = set()
        """Versions that were published since the worker was up to date."""
        self._published = version
        self._behind_since_s: float | None = None
        self._fetch_at_s = 0.0
        self._published_at_s = 0.0
        """When the newest fetched weights were published, on this process' clock."""
        self._latency_s: float | None = None
        self._is_fresh = threading.Event()
        self._is_fresh.set()

    # ---- the workers' threads

    def load_newest(self, pipeline: Pipeline) -> None:
        newest = version, tensors = self._newest
        if not tensors or version == pipeline.version:
            return
        try:
            pipeline.load(tensors, version)
        except ZerofleetError as fault:
            self._refuse(version, str(fault))
            return
        with self._lock:
            if self._good is not newest:  # the first worker to load them
                self._good = newest
                self._num_loaded += 1
                self._latency_s = time.monotonic() - self._published_at_s

    def wait_until_fresh(self, timeout_s: float) -> bool:
        if not self.why_paused:
            return True
        self._is_fresh.wait(timeout_s)
        return not self.why_paused

    @property
    def why_paused(self) -> str:
        versions, seconds = self._behind()
        settings = self._settings
        if versions > settings.max_versions_behind:
            why = f"{versions} versions behind (fleet.max_versions_behind)"
        elif seconds > settings.max_seconds_behind:
            why = f"{seconds:.0f} s behind (fleet.max_seconds_behind)"
        else:
            return ""
        return f"fetches weights {self._published}: {why}" if self._bus.reachable else ""

    def values(self) -> dict[str, float | None]:
        """Figures by name, as role_metrics.py declares them."""
        versions, seconds = self._behind()
        return {
            "weights_loaded": self._num_loaded,
            "weights_refused": len(self._refused),
            "refused_version": max(self._refused, default=None),
            "versions_behind": versions,
            "weights_behind_s": seconds,
            "weights_latency_s": self._latency_s,
        }

    @property
    def sha256(self) -> str:
        """Of the tensors that were loaded last, encoded again: what the trainer published, unless
        they were changed on their way. For one thread, which computes it once per version."""
        version, tensors = self._good
        if self._hashed[0] != version:
            self._hashed = (version, encoded_tensors(tensors)[1])
        return self._hashed[1]

    def _behind(self) -> tuple[int, float]:
        """Publications and seconds. Versions grow by steps: they are counted, not subtracted."""
        since_s, newer = self._behind_since_s, self._newer
        if since_s is None:
            return 0, 0.0
        with suppress(BusUnreachable):
            if (published := self._bus.weights_version()) is not None:
                newer.add(published)  # while the feed's thread fetches
        return len(newer), time.monotonic() - since_s

    # ---- the feed's thread

    def _fetch(self) -> None:
        try:
            self._fetch_new()
        except ConnectionError:
            time.sleep(RETRY_S * random.random())
        else:
            left_s = self._fetch_at_s - time.monotonic()
            self._bus.wait_for_news(min(POLL_WEIGHTS_S, left_s) if left_s > 0 else POLL_WEIGHTS_S)

    def _fetch_new(self) -> None:
        published = self._bus.weights_version()
        if published is None or published == self._newest[0] or published in self._refused:
            self._is_up_to_date()
            return
        if self._behind_since_s is None:
            self._newer = {published}
            self._is_fresh.clear()
            self._behind_since_s = time.monotonic()
            longest_s = self._settings.max_seconds_behind / 2
            spread_s = min(longest_s, self._bus.num_listeners / FETCHES_PER_S)
            self._fetch_at_s = self._behind_since_s + random.uniform(0, spread_s)
        self._published = published
        if time.monotonic() < self._fetch_at_s:
            return
        found = self._bus.other_weights(self._newest[0], self._fetch_bytes)
        if found is None or found.version in self._refused:
            return
        name = f"weights {found.version}"
        try:
            tensors = checked_tensors(found.data, found.sha256, name)
        except BadWeights as fault:
            self._refuse(found.version, f"{fault}; still serving {self._newest[0]}")
        else:
            self._published_at_s = time.monotonic() - found.age_s
            self._newest = (found.version, tensors)
        self._is_up_to_date()

    def _is_up_to_date(self) -> None:
        self._behind_since_s = None
        self._is_fresh.set()

    def _refuse(self, version: int, fault: str) -> None:
        """Once, though several workers may try them."""
        with self._lock:
            is_new = version not in self._refused
            self._refused.add(version)
            if self._newest[0] == version:
                self._newest = self._good
        if is_new:
            self._say(fault)
