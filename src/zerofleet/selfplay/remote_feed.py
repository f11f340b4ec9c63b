"""What a worker that asks inference servers must know of its run: where they are, and which
versions of the weights they may answer with."""

import threading
from collections.abc import Callable

from zerofleet.bus import Bus, BusUnreachable
from zerofleet.infer import Pipeline
from zerofleet.infer.remote import ServerAddress
from zerofleet.selfplay.fleet_feed import RETRY_S, FleetWeightsFeed
from zerofleet.selfplay.worker import OnFault, WeightsFeed

POLL_S = 0.5
"""Longest wait for an announcement; then servers and versions are looked at without one."""
NUM_REMEMBERED = 1000
"""Published versions, so that an older answer is known by how many it is behind."""


class PublishedVersions:
    """The versions that the run has published, in that order. Any thread may ask."""

    def __init__(self, bus: Bus, max_behind: int) -> None:
        self._bus = bus
        self._max_behind = max_behind
        self._lock = threading.Lock()
        self._seen: list[int] = []
        self.look()

    def look(self) -> None:
        """Asks the bus, and so may wait for its server."""
        recent = self._bus.recent_versions()[::-1]
        with self._lock:
            before = [version for version in self._seen if version not in recent]
            self._seen = [*before, *recent][-NUM_REMEMBERED:]

    def why_refused(self, version: int) -> str:
        """Why an answer of this version must not be used; empty where it may."""
        if version not in self._seen:
            try:
                self.look()  # a server may hear of new weights first
            except BusUnreachable:
                return "of which Redis cannot be asked"
        with self._lock:
            if version not in self._seen:
                return "which the run has not published"
            num_behind = len(self._seen) - 1 - self._seen.index(version)
        if num_behind > self._max_behind:
            return f"{num_behind} versions behind (fleet.max_versions_behind)"
        return ""


class RemoteFeed(WeightsFeed):
    """Looks for servers and published versions in a thread of its own. The weights stay with the
    servers, except those of a fallback, which `own` fetches for `fallback`."""

    def __init__(
        self,
        bus: Bus,
        max_behind: int,
        is_stopping: Callable[[], bool],
        on_fault: OnFault,
        own: FleetWeightsFeed | None = None,
        fallback: Pipeline | None = None,
    ) -> None:
        super().__init__(bus, -1, is_stopping, on_fault)
        self.versions = PublishedVersions(bus, max_behind)
        self._own, self._fallback = own, fallback
        self._servers: list[ServerAddress] = []
        self._version = bus.weights_version()
        self._look()

    def find_servers(self) -> list[ServerAddress]:
        """As of the last look."""
        return self._servers

    def start(self) -> None:
        super().start()
        if self._own is not None:
            self._own.start()

    def join(self) -> None:
        super().join()
        if self._own is not None:
            self._own.join()

    def load_newest(self, pipeline: Pipeline) -> None:
        if self._own is not None and self._fallback is not None:
            self._own.load_newest(self._fallback)

    def values(self) -> dict[str, float | None]:
        """Figures by name, as role_metrics.py declares them."""
        return {} if self._own is None else self._own.values()

    def _fetch(self) -> None:
        try:
            self._look()
        except BusUnreachable:
            self._bus.wait_for_news(RETRY_S)
        else:
            self._bus.wait_for_news(POLL_S)

    def _look(self) -> None:
        offers = self._bus.inference_offers()
        self._servers = [ServerAddress(each.id, each.address, each.public_key) for each in offers]
        if self._bus.weights_version() != self._version:
            self.versions.look()
            self._version = self._bus.weights_version()
