"""The current state of a fleet, from its registry and its Redis.

One look, for `fleet status` and for each picture of `monitor`. A viewer's user may read all of it.
"""

import time
from dataclasses import asdict, dataclass
from typing import Any

from zerofleet.bus import Backlog, Bus, Pace, RoleEntry, ServerFigures, WeightsFacts
from zerofleet.fleet.screen import short_text
from zerofleet.printing import duration_text, size_text

HEADER = (
    *("role", "id", "host", "device", "doing", "up", "games", "games/s", "version", "spool"),
    "health",
)
NUMBERS = ("up", "games", "games/s", "version", "spool")


@dataclass(frozen=True)
class FleetStatus:
    """Read at one moment."""

    run: str
    read_at: float
    """Unix time."""
    roles: list[RoleEntry]
    heartbeats: dict[str, float]
    """Seconds since each role registered last, by id, in Redis' time."""
    backlog: Backlog
    pace: Pace | None
    """None while no trainer keeps it up to date."""
    weights: WeightsFacts | None
    held: str
    """Why all workers are paused; empty where they are not."""
    has_ended: bool
    server: str
    figures: ServerFigures | None

    @staticmethod
    def read(bus: Bus, run: str, server: str) -> "FleetStatus":
        heartbeats = bus.heartbeats()  # first: a role without one has registered just now
        return FleetStatus(
            run,
            time.time(),
            bus.roles(),
            heartbeats,
            bus.backlog(),
            bus.pace(),
            bus.weights_facts(),
            bus.held(""),
            bus.stopping,
            server,
            bus.server_figures(),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def rows(self) -> list[tuple[str, ...]]:
        """Of a table with HEADER. Games/s are means since the role's start."""
        return [self._row(role) for role in self.roles]

    def lines(self) -> list[str]:
        waiting, pace, figures = self.backlog, self.pace, self.figures
        queue = f"queue: {waiting.num_episodes:,} games, {size_text(waiting.num_bytes)}"
        if waiting.num_episodes:
            queue += f", the oldest {duration_text(waiting.oldest_s)} old"
        nobody = [] if self.roles else ["no role is registered"]
        version = "none yet" if self.weights is None else self.weights.version
        lines = [*nobody, queue, f"weights: {version}"]
        if pace is None:
            lines.append("pace: no trainer keeps it up to date; workers play ahead")
        else:
            may = f"{pace.rows_inserted:,} rows, self-play may run to {pace.rows_allowed:,}"
            lines.append(f"pace: {may}{f'; paused: {pace.paused}' if pace.paused else ''}")
        if self.held:
            lines.append(f"all workers are paused: {self.held}")
        if figures is not None:
            limit = size_text(figures.max_memory_bytes) if figures.max_memory_bytes else "no limit"
            lines.append(f"{self.server}: {size_text(figures.memory_bytes)} of memory, {limit}")
        return lines

    def _row(self, role: RoleEntry) -> tuple[str, ...]:
        up_s = max(1e-9, self.read_at - role.started)
        games, spool = role.counters.get("games"), role.counters.get("spool_bytes")
        # A trainer's games are those of the whole run, not of its session.
        per_s = "" if games is None or role.kind == "trainer" else short_text(games / up_s)
        version = role.counters.get("version")
        return (
            role.kind,
            role.id,
            role.host,
            role.device,
            role.doing,
            duration_text(up_s),
            "" if games is None else f"{games:,.0f}",
            per_s,
            "" if version is None else f"{version:.0f}",
            "" if spool is None else size_text(spool),
            role.address,
        )
