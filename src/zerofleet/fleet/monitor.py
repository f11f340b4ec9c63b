"""What a fleet did lately: looks at its registry, put together.

    monitor = FleetMonitor()
    view = monitor.look(FleetStatus.read(bus, run, bus.server), time.monotonic())

Rates are the growth of counters between two heartbeats, at the times at which Redis received them:
per second over the last seconds, per hour over what was seen of the last hour. A role that has left
the registry stays listed as gone for some minutes. Pure data: nothing here waits, draws or asks.
"""

import math
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean

from zerofleet.bus import RoleEntry
from zerofleet.fleet.fleet_status import FleetStatus
from zerofleet.fleet.role import HEARTBEAT_S

RATE_WINDOW_S = 10.0
"""Rates per second cover so much, or more where two heartbeats are further apart."""
HOUR_S = 3600.0
SAMPLES_PER_HOUR = 240
SILENT_S = 5 * HEARTBEAT_S
"""A role with an older heartbeat hangs, or has died without leaving the registry."""
GONE_S = 600.0
"""How long a role stays listed after it has left the registry."""
LATE_QUEUE_S = 10.0
"""A trainer that keeps up takes games in sooner."""

TREND_S, NUM_TREND = 5.0, 60
"""Between two points of a trend, and how many it has at most."""

PULSE = {"trainer": "steps", "worker": "simulations", "inference": "inferences"}
"""The counter that grows all the time while a role of this kind works."""
TOTALS = ("games", "positions", "samples", "steps")
"""What the trainer counts over the whole run."""
TRENDS = ("games", "samples")
"""Those of which the rate has a trend."""


@dataclass(frozen=True)
class RoleView:
    """One role, or all of a kind on one machine."""

    entry: RoleEntry
    heartbeat_s: float
    """Age of its last heartbeat."""
    up_s: float
    per_s: Mapping[str, float] = field(default_factory=dict)
    """Growth of its counters; empty until two heartbeats were seen, and while none comes."""
    is_gone: bool = False
    """Whether it has left the registry."""
    num_roles: int = 1

    @property
    def pulse(self) -> float | None:
        """What it does per second; None where that is not known."""
        return None if self.is_gone else self.per_s.get(PULSE.get(self.entry.kind, ""))

    @property
    def is_lost(self) -> bool:
        """Whether nothing is heard of it."""
        return self.is_gone or self.heartbeat_s >= SILENT_S

    @property
    def trouble(self) -> str:
        """In a few words; empty where there is none."""
        if self.is_lost:
            return "gone" if self.is_gone else "silent"
        return "stands still" if self.pulse == 0 else ""


@dataclass(frozen=True)
class Total:
    """A counter of the whole run."""

    total: float
    per_s: float | None
    """None until two heartbeats were seen."""
    per_hour: float | None


@dataclass(frozen=True)
class FleetView:
    """All that a picture of a fleet shows."""

    status: FleetStatus
    roles: Sequence[RoleView]
    """Those that are registered and those that are gone, by id."""
    totals: Mapping[str, Total]
    """Of TOTALS, as far as a trainer has reported them."""
    queue_per_s: float | None
    """Growth of the queue, in games."""
    max_queue_bytes: float | None
    """fleet.max_backlog_bytes; None before a trainer has reported it."""
    trends: Mapping[str, Sequence[float]]
    """What was in the last minutes, oldest first, by name."""

    def of_kind(self, kind: str) -> list[RoleView]:
        """Those that are registered."""
        return [each for each in self.roles if each.entry.kind == kind and not each.is_gone]

    @property
    def trainer(self) -> RoleView | None:
        """The trainer, registered or gone."""
        return next((each for each in self.roles if each.entry.kind == "trainer"), None)

    @property
    def trainer_counters(self) -> Mapping[str, float]:
        """What the trainer said last, registered or gone."""
        return {} if self.trainer is None else self.trainer.entry.counters

    @property
    def queue_grows(self) -> bool:
        """Whether games come in faster than the trainer takes them."""
        late = self.status.backlog.oldest_s >= LATE_QUEUE_S
        return late and (self.queue_per_s or 0) > 0

    @property
    def versions(self) -> list[tuple[int, int]]:
        """Versions in use and by how many roles, newest first. A trainer uses none."""
        users = [each for each in self.roles if not each.is_gone and each.entry.kind != "trainer"]
        used = (each.entry.counters.get("version") for each in users)
        found = Counter(int(version) for version in used if version is not None)
        return sorted(found.items(), reverse=True)

    def sum_of(self, name: str) -> float:
        """Of a counter, over the registered roles."""
        return sum(each.entry.counters.get(name, 0) for each in self.roles if not each.is_gone)

    def share_of(self, kind: str, name: str) -> float | None:
        """The mean share of time that registered roles of a kind spend with what is counted in
        seconds under this name."""
        found = [each.per_s[name] for each in self.of_kind(kind) if name in each.per_s]
        return min(1.0, fmean(found)) if found else None


class Growth:
    """A counter over the last hour."""

    def __init__(self) -> None:
        self._samples: deque[tuple[float, float]] = deque()

    def add(self, at_s: float, value: float) -> None:
        samples = self._samples
        is_close = len(samples) > 1 and at_s - samples[-2][0] < HOUR_S / SAMPLES_PER_HOUR
        if is_close:
            samples.pop()
        samples.append((at_s, value))
        while samples[0][0] < at_s - HOUR_S:
            samples.popleft()

    def per_hour(self) -> float | None:
        (first_s, first), (last_s, last) = self._samples[0], self._samples[-1]
        return max(0.0, last - first) / (last_s - first_s) * HOUR_S if last_s > first_s else None


@dataclass
class Heartbeats:
    """The last of one start of a role: when, and with which counters."""

    started: float
    samples: deque[tuple[float, Mapping[str, float]]] = field(default_factory=deque)

    def add(self, at_s: float, counters: Mapping[str, float]) -> None:
        if self.samples and at_s - self.samples[-1][0] < HEARTBEAT_S / 4:
            return  # the same one, seen again
        self.samples.append((at_s, counters))
        while len(self.samples) > 2 and self.samples[1][0] <= at_s - RATE_WINDOW_S:
            self.samples.popleft()

    def per_s(self) -> dict[str, float]:
        (first_s, first), (last_s, last) = self.samples[0], self.samples[-1]
        if last_s == first_s:
            return {}
        return {
            name: max(0.0, value - first[name]) / (last_s - first_s)
            for name, value in last.items()
            if name in first
        }


class FleetMonitor:
    """Puts looks together, oldest first."""

    def __init__(self) -> None:
        self._heartbeats: dict[str, Heartbeats] = {}
        self._last: dict[str, RoleView] = {}
        """Each role as it was last registered."""
        self._last_at_s: dict[str, float] = {}
        """When that heartbeat was."""
        self._totals: dict[str, Growth] = {}
        self._queue: deque[tuple[float, int]] = deque()
        self._max_queue_bytes: float | None = None
        self._trends: dict[str, deque[float]] = {}
        self._trends_at_s = -math.inf

    def look(self, status: FleetStatus, now_s: float) -> FleetView:
        """Adds what was read at a moment of a monotonic clock."""
        for entry in status.roles:
            self._add(entry, status, now_s)
        roles = self._roles(status, now_s)
        trainer = next((each for each in roles if each.entry.kind == "trainer"), None)
        totals = {} if trainer is None else self._totals_of(trainer, now_s)
        self._add_to_trends(status, totals, now_s)
        return FleetView(
            status,
            roles,
            totals,
            self._queue_growth(status, now_s),
            self._max_queue_bytes,
            {name: list(points) for name, points in self._trends.items()},
        )

    def _add(self, entry: RoleEntry, status: FleetStatus, now_s: float) -> None:
        heartbeat_s = status.heartbeats.get(entry.id, 0.0)
        seen = self._heartbeats.get(entry.id)
        if seen is None or seen.started != entry.started:
            seen = self._heartbeats[entry.id] = Heartbeats(entry.started)
        seen.add(now_s - heartbeat_s, entry.counters)
        self._last[entry.id] = RoleView(
            entry,
            heartbeat_s,
            max(0.0, status.read_at - entry.started),
            seen.per_s() if heartbeat_s < SILENT_S else {},
        )
        self._last_at_s[entry.id] = now_s - heartbeat_s
        if entry.kind == "trainer":
            self._max_queue_bytes = entry.counters.get("max_backlog_bytes", self._max_queue_bytes)

    def _roles(self, status: FleetStatus, now_s: float) -> list[RoleView]:
        registered = {entry.id for entry in status.roles}
        for role_id in self._last.keys() - registered:
            silent_s = now_s - self._last_at_s[role_id]
            if silent_s > GONE_S:
                for known in (self._last, self._last_at_s, self._heartbeats):
                    del known[role_id]
            else:
                self._last[role_id] = replace(
                    self._last[role_id], heartbeat_s=silent_s, is_gone=True, per_s={}
                )
        return [self._last[role_id] for role_id in sorted(self._last)]

    def _totals_of(self, trainer: RoleView, now_s: float) -> dict[str, Total]:
        found = {}
        for name in TOTALS:
            if (value := trainer.entry.counters.get(name)) is not None:
                growth = self._totals.setdefault(name, Growth())
                growth.add(now_s, value)
                per_s = 0.0 if trainer.is_lost else trainer.per_s.get(name)
                found[name] = Total(value, per_s, growth.per_hour())
        return found

    def _add_to_trends(
        self, status: FleetStatus, totals: Mapping[str, Total], now_s: float
    ) -> None:
        if now_s - self._trends_at_s < TREND_S:
            return
        self._trends_at_s = now_s
        rates = {name: totals[name].per_s if name in totals else None for name in TRENDS}
        points = {f"{name}/s": per_s or 0.0 for name, per_s in rates.items()}
        for name, value in {**points, "queue": float(status.backlog.num_episodes)}.items():
            self._trends.setdefault(name, deque(maxlen=NUM_TREND)).append(value)

    def _queue_growth(self, status: FleetStatus, now_s: float) -> float | None:
        queue = self._queue
        queue.append((now_s, status.backlog.num_episodes))
        while len(queue) > 2 and queue[1][0] <= now_s - RATE_WINDOW_S:
            queue.popleft()
        (first_s, first), (last_s, last) = queue[0], queue[-1]
        return (last - first) / (last_s - first_s) if last_s > first_s else None


def by_machine(roles: Sequence[RoleView]) -> list[RoleView]:
    """One for all of a kind on a host that share a state: counters and rates are added up, of
    versions the oldest counts, as does the oldest heartbeat."""
    groups: dict[tuple[str, str, bool], list[RoleView]] = {}
    for each in roles:
        groups.setdefault((each.entry.kind, each.entry.host, each.is_gone), []).append(each)
    return [_joined(group) for group in groups.values()]


def _joined(group: Sequence[RoleView]) -> RoleView:
    if len(group) == 1:
        return group[0]
    entries = [each.entry for each in group]
    counters = _sums([entry.counters for entry in entries])
    versions = [entry.counters["version"] for entry in entries if "version" in entry.counters]
    if versions:
        counters["version"] = min(versions)
    doing = Counter(entry.doing for entry in entries).most_common(1)[0][0]
    devices = ", ".join(sorted({entry.device for entry in entries}))
    return RoleView(
        replace(
            entries[0],
            id=f"{entries[0].host} x{len(group)}",
            device=devices,
            doing=doing,
            counters=counters,
        ),
        max(each.heartbeat_s for each in group),
        min(each.up_s for each in group),
        _sums([each.per_s for each in group]),
        group[0].is_gone,
        len(group),
    )


def _sums(parts: Sequence[Mapping[str, float]]) -> dict[str, float]:
    sums: dict[str, float] = {}
    for part in parts:
        for name, value in part.items():
            sums[name] = sums.get(name, 0.0) + value
    return sums
