"""How a role finds its run: it waits for Redis and a trainer, and notices when another run has
taken the name."""

import time
from collections.abc import Callable
from contextlib import closing, suppress

from zerofleet.bus import Bus, BusUnreachable, FetchWeights, PublishedWeights
from zerofleet.bus.connect import RedisAddress, pause_before
from zerofleet.bus.redis import RedisBus
from zerofleet.config import Config
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.signals import GracefulStop
from zerofleet.remote import RemoteUnreachable, RemoteWeights

Say = Callable[[str], None]
POLL_S = 0.2
"""How often a role looks whether it is to end."""
WAIT_S = 2.0
"""How often it looks for what is not there yet."""


def connected(address: RedisAddress, run: str, stop: GracefulStop, say: Say) -> RedisBus | None:
    """The bus, once Redis can be reached; None where the role is to end first."""
    attempt = 0
    while not stop.requested:
        try:
            return RedisBus(address, run)
        except BusUnreachable as fault:
            if attempt == 0:
                say(f"{fault}; trying again")
            rest(pause_before(attempt), stop)
            attempt += 1
    return None


def connected_within(patience_s: float, address: RedisAddress, run: str, say: Say) -> RedisBus:
    """The bus; waits so long for a Redis that is being restarted."""
    end_s = time.monotonic() + patience_s
    attempt = 0
    while True:
        try:
            return RedisBus(address, run)
        except BusUnreachable as fault:
            if time.monotonic() >= end_s:
                raise
            if attempt == 0:
                say(f"{fault}; trying again for {patience_s:g} s")
            time.sleep(pause_before(attempt))
            attempt += 1


def waited_for_run(
    bus: Bus, run: str, address: RedisAddress, stop: GracefulStop, say: Say
) -> tuple[FleetFacts, PublishedWeights] | None:
    """What the trainer has published; None where the role is to end first."""
    has_said = False
    while not stop.requested:
        with suppress(BusUnreachable, RemoteUnreachable):
            if (data := bus.run_facts()) is not None:
                facts = FleetFacts.decode(data, run)
                weights = bus.other_weights(-1, fetch_of(facts.config(), run, say))
                if weights is not None:
                    return facts, weights
        if not has_said:
            say(f"waiting for a trainer of run {run} at {address}")
            has_said = True
        bus.wait_for_news(WAIT_S)
    return None


def fetch_of(config: Config, run: str, say: Say) -> FetchWeights | None:
    """What gets weights from S3, where the run says so; None: they come from the bus."""
    if config.fleet.weights_from == "redis" or config.run.s3_url is None:
        return None
    return RemoteWeights(config.run.s3_url, run, say)


def serve_each_run(
    address: RedisAddress,
    run: str,
    stop: GracefulStop,
    say: Say,
    serve: Callable[[RedisBus, FleetFacts, PublishedWeights], bool],
) -> None:
    """Serves a run until the signal or its end. `serve` returns whether it ended because the run
    was deleted and created again under its name: that is a new run, with which it starts over."""
    while not stop.requested:
        bus = connected(address, run, stop, say)
        if bus is None:
            return
        with closing(bus):
            found = waited_for_run(bus, run, address, stop, say)
            if found is None or not serve(bus, *found):
                return
        say(f"run {run} was created again: starting over")


def rest(seconds: float, stop: GracefulStop) -> None:
    end_s = time.monotonic() + seconds
    while time.monotonic() < end_s and not stop.requested:
        time.sleep(min(POLL_S, max(0.0, end_s - time.monotonic())))


class RunWatch:
    """Whether a run is still the one that its facts tell of."""

    def __init__(self, bus: Bus, facts: FleetFacts) -> None:
        self._bus, self._facts = bus, facts
        self._is_outdated = False
        self._looked_at_s = time.monotonic()

    @property
    def is_outdated(self) -> bool:
        """Looks every few seconds; a bus that cannot be reached changes nothing."""
        if time.monotonic() - self._looked_at_s >= WAIT_S:
            self._looked_at_s = time.monotonic()
            with suppress(BusUnreachable):
                facts = self._bus.run_facts()
                if facts is not None:
                    run_id = FleetFacts.decode(facts, self._facts.run_name).run_id
                    self._is_outdated = run_id != self._facts.run_id
        return self._is_outdated
