"""A made-up fleet for tests of the monitor: what it would read from Redis, at any moment."""

from dataclasses import replace

from zerofleet.bus import Backlog, Pace, RoleEntry, ServerFigures, WeightsFacts
from zerofleet.fleet.fleet_status import FleetStatus
from zerofleet.fleet.monitor import FleetMonitor, FleetView

STARTED = 1_000_000.0
"""Unix time at which all roles began."""

PER_S = {
    "worker": {"games": 12.0, "rows": 500.0, "simulations": 24_000.0, "waiting_to_play_s": 0.25},
    "trainer": {"games": 60.0, "positions": 2_500.0, "samples": 12_800.0, "steps": 12.5},
    "rater": {"blocks": 0.1},
}
"""What a role of a kind counts per second."""
GAUGES = {
    "worker": {"version": 412.0, "weights_loaded": 9.0, "spool_bytes": 3e6},
    "trainer": {
        "version": 412.0,
        "loss": 1.5321,
        "losses/loss/policy": 1.01,
        "losses/loss/value": 0.52,
        "rating_step": 1200.0,
        "rating_score/random": 0.95,
        "max_backlog_bytes": float(64 << 20),
        "weights_published": 33.0,
        "weights_in_run": 14.0,
    },
    "rater": {"blocks_returned": 0.0},
}


def role(kind: str, role_id: str, at_s: float, **counters: float) -> RoleEntry:
    """A role that has worked for so long. Counters are set as given."""
    counted = {name: each * at_s for name, each in PER_S.get(kind, {}).items()}
    return RoleEntry(
        id=role_id,
        kind=kind,
        host=f"host-of-{role_id.partition('/')[0]}",
        device="cpu",
        started=STARTED,
        doing="plays" if kind == "worker" else "works",
        counters={**counted, **GAUGES.get(kind, {}), **counters},
    )


def fleet_status(at_s: float, roles: list[RoleEntry], num_waiting: int = 120) -> FleetStatus:
    """So many seconds after the start; every heartbeat is 0.4 s old."""
    return FleetStatus(
        run="c4",
        read_at=STARTED + at_s,
        roles=roles,
        heartbeats={each.id: 0.4 for each in roles},
        backlog=Backlog(num_waiting, 2600 * num_waiting, 0.5 if num_waiting < 1000 else 40.0),
        pace=Pace(rows_inserted=2_500_000, rows_allowed=2_510_000),
        weights=WeightsFacts(412, 400, 6_000_000, 8.0, 6),
        held="",
        has_ended=False,
        server="Redis 7.0.15",
        figures=ServerFigures(3 << 20, 2 << 30),
    )


def usual_roles(at_s: float, num_workers: int = 3) -> list[RoleEntry]:
    workers = [role("worker", f"box-{number}", at_s) for number in range(num_workers)]
    return [role("trainer", "trainer", at_s), role("rater", "judge", at_s), *workers]


def usual_view(num_workers: int = 3) -> FleetView:
    """A fleet in which all is well, after two looks."""
    monitor = FleetMonitor()
    for at_s in (1000.0, 1004.0):
        view = monitor.look(fleet_status(at_s, usual_roles(at_s, num_workers)), at_s)
    return view


def troubled_view() -> FleetView:
    """A worker is gone, another stands still, the queue grows."""
    monitor = FleetMonitor()
    monitor.look(fleet_status(1000.0, usual_roles(1000.0), 4000), 1000.0)
    roles = usual_roles(1004.0)[:-2]
    still = role("worker", "box-1", 1004.0, simulations=24e6, games=12_000.0)
    still = replace(still, doing="held: the machine is needed for a call")
    return monitor.look(fleet_status(1004.0, [*roles, still], 4200), 1004.0)
