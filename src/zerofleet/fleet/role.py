"""What every role of a fleet has: an id, a registry entry and a health port.

    with RolePresence("worker", worker_id, bus, run_name, device, read_values) as presence:
        while not bus.stopping:
            presence.beat("playing")
            ...

A background thread writes the entry, so that a slow or absent Redis does not block the role.
"""

import re
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Self

from zerofleet.bus import Bus, BusFull, BusUnreachable, RoleEntry
from zerofleet.fleet.facts import program_version
from zerofleet.fleet.health import LOOPBACK, HealthServer
from zerofleet.fleet.role_metrics import Values, bus_values, registry_counters

HEARTBEAT_S = 2.0


@dataclass(frozen=True)
class HealthPort:
    """Where a role serves its health: 0 is a free port."""

    host: str = LOOPBACK
    port: int = 0


LOOPBACK_PORT = HealthPort()


class RolePresence:
    """Keeps the registry and the health port up to date with `read_values`: the role's counters
    and gauges by the names in role_metrics, read without waiting for the network. `on_heartbeat` is
    called in the thread that may wait for it."""

    def __init__(
        self,
        kind: str,
        role_id: str,
        bus: Bus,
        run: str,
        device: str,
        read_values: Callable[[], Values],
        health: HealthPort,
        read_roles: Callable[[], Sequence[RoleEntry]] | None = None,
        on_heartbeat: Callable[[], None] = lambda: None,
        read_weights_sha256: Callable[[], str] = lambda: "",
    ) -> None:
        self._bus = bus
        self._read_values = read_values
        self._on_heartbeat = on_heartbeat
        self._read_weights_sha256 = read_weights_sha256
        self._doing = "starting"
        self._server = HealthServer(
            kind, role_id, run, self._health_values, read_roles, health.host, health.port
        )
        self._facts = RoleEntry(
            id=role_id,
            kind=kind,
            host=socket.gethostname(),
            device=device,
            program=program_version(),
            started=time.time(),
            address=self._server.address,
        )
        self._fault: Exception | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="heartbeat", daemon=True)

    @property
    def address(self) -> str:
        return self._server.address

    def beat(self, doing: str) -> None:
        """Tells that the role's loop makes progress, and what it does or waits for. Raises what
        ended the heartbeat, if anything did."""
        if self._fault is not None:
            raise self._fault
        self._doing = doing
        self._server.beat(doing)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._ended.set()
        self._thread.join()
        self._server.close()

    def _run(self) -> None:
        try:
            while not self._ended.is_set():
                self._try(lambda: self._bus.register(self._entry()))
                self._try(self._on_heartbeat)
                self._ended.wait(HEARTBEAT_S)
            self._try(lambda: self._bus.unregister(self._facts.id))
        except Exception as fault:
            self._fault = fault

    def _try(self, call: Callable[[], None]) -> None:
        """The next heartbeat tries again."""
        with suppress(BusUnreachable, BusFull):
            call()

    def _entry(self) -> RoleEntry:
        return replace(
            self._facts,
            doing=self._doing,
            weights_sha256=self._read_weights_sha256(),
            counters=registry_counters(self._read_values()),
        )

    def _health_values(self) -> Values:
        return {**bus_values(self._bus), **self._read_values()}


def default_role_id() -> str:
    """The name of this machine, as far as it can be one in Redis."""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", socket.gethostname()).lstrip(".-_")[:60]
    return name or "worker"
