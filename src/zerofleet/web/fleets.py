"""Fleets as the pages show them: each is looked at once a second while somebody watches."""

import os
import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING

from zerofleet.bus import BusUnreachable
from zerofleet.errors import ZerofleetError
from zerofleet.runs.folder import REDIS, check_name, find, runs_folder
from zerofleet.web.schema import (
    FleetAnswer,
    FleetQueue,
    FleetRole,
    FleetTotal,
    FleetVersion,
)

if TYPE_CHECKING:
    from zerofleet.fleet.monitor import FleetView, RoleView

LOOK_S = 1.0
WATCHED_S = 15.0
"""Looks end when nobody has asked for so long."""
FIRST_LOOK_S = 1.5
"""How long the first request waits for a look."""
MAX_FLEETS = 8


class Fleets:
    """The fleets of all runs."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._watched: dict[str, Watch] = {}

    def look(self, run: str) -> FleetAnswer:
        """The newest look at the fleet of a run."""
        check_name(run)
        given = os.environ.get("REDIS_URL") or os.environ.get("REDIS_URL_FILE")
        if not given:
            find(run)
            if not (runs_folder() / run / REDIS / "url").exists():
                return nothing(
                    run,
                    f"{run} has no fleet here: it trains in one process, and REDIS_URL is not set",
                )
        with self._lock:
            watch = self._watched.get(run)
            if watch is None or not watch.is_alive:
                alive = [each for each in self._watched.values() if each.is_alive]
                if len(alive) >= MAX_FLEETS:
                    return nothing(run, f"{MAX_FLEETS} fleets are watched already; try again soon")
                watch = self._watched[run] = Watch(run)
        return watch.answer()


class Watch:
    """Looks at one fleet in a thread."""

    def __init__(self, run: str) -> None:
        self._run = run
        self._asked_s = time.monotonic()
        self._first = threading.Event()
        self._view: FleetView | None = None
        self._reason = "no answer from Redis yet"
        self._thread = threading.Thread(target=self._look, name=f"fleet {run}", daemon=True)
        self._thread.start()

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def answer(self) -> FleetAnswer:
        self._asked_s = time.monotonic()
        self._first.wait(FIRST_LOOK_S)
        if self._view is None:
            return nothing(self._run, self._reason)
        return answer_of(self._run, self._view, self._reason)

    def _look(self) -> None:
        try:
            # Imported here: they need the extra `fleet`.
            from zerofleet.bus.redis import RedisBus
            from zerofleet.fleet.fleet_status import FleetStatus
            from zerofleet.fleet.local_redis import address_for
            from zerofleet.fleet.monitor import FleetMonitor

            monitor = FleetMonitor()
            with closing(RedisBus(address_for(self._run, None), self._run)) as bus:
                while time.monotonic() - self._asked_s < WATCHED_S:
                    try:
                        status = FleetStatus.read(bus, self._run, bus.server)
                        self._view, self._reason = monitor.look(status, time.monotonic()), ""
                    except BusUnreachable as error:
                        self._reason = str(error)
                    self._first.set()
                    time.sleep(LOOK_S)
        except ModuleNotFoundError as error:
            self._view, self._reason = None, f"{error}; pip install 'zerofleet[fleet]'"
        except (ZerofleetError, OSError) as error:
            self._view, self._reason = None, str(error)
        finally:
            self._first.set()


def nothing(run: str, reason: str) -> FleetAnswer:
    return FleetAnswer(
        run=run,
        is_reachable=False,
        reason=reason,
        roles=[],
        totals=[],
        queue=None,
        versions=[],
        newest_version=None,
        weights_age_s=None,
        held="",
        allows_play=None,
        has_ended=False,
        memory_bytes=None,
        max_memory_bytes=None,
        trends={},
    )


def answer_of(run: str, view: "FleetView", reason: str) -> FleetAnswer:
    status = view.status
    weights, pace, figures = status.weights, status.pace, status.figures
    return FleetAnswer(
        run=run,
        is_reachable=not reason,
        reason=reason,
        roles=[role_of(each) for each in view.roles],
        totals=[
            FleetTotal(name=name, total=each.total, per_s=each.per_s, per_hour=each.per_hour)
            for name, each in view.totals.items()
        ],
        queue=FleetQueue(
            num_episodes=status.backlog.num_episodes,
            num_bytes=status.backlog.num_bytes,
            max_bytes=view.max_queue_bytes,
            oldest_s=status.backlog.oldest_s,
            per_s=view.queue_per_s,
            grows=view.queue_grows,
        ),
        versions=[
            FleetVersion(version=version, num_roles=count) for version, count in view.versions
        ],
        newest_version=weights.version if weights else None,
        weights_age_s=weights.age_s if weights else None,
        held=status.held,
        allows_play=pace.allows_play if pace else None,
        has_ended=status.has_ended,
        memory_bytes=figures.memory_bytes if figures else None,
        max_memory_bytes=figures.max_memory_bytes if figures else None,
        trends={name: list(points) for name, points in view.trends.items()},
    )


def role_of(view: "RoleView") -> FleetRole:
    # Imported here: it needs the extra `fleet`, which is there where a fleet was seen.
    from zerofleet.fleet.monitor import PULSE

    entry = view.entry
    counters = entry.counters
    version = counters.get("version")
    pulse = PULSE.get(entry.kind, "")
    return FleetRole(
        id=entry.id,
        kind=entry.kind,
        host=entry.host,
        device=entry.device,
        program=entry.program,
        doing=entry.doing,
        up_s=round(view.up_s, 1),
        heartbeat_s=round(view.heartbeat_s, 1),
        version=None if version is None else int(version),
        per_s=view.pulse,
        unit=f"{pulse}/s" if pulse else "",
        games=counters.get("games", 0),
        games_per_s=view.per_s.get("games"),
        spool_bytes=counters.get("spool_bytes"),
        trouble=view.trouble,
        is_gone=view.is_gone,
    )
