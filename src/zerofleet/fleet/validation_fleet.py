"""A small fleet for a validation: real processes around a real Redis, looked at while they play.

    fleet = run_small_fleet(runs)
    fleet.quiet.loaded      # the weights hash of each that evaluates
    fleet.quiet.published   # must equal them

Once the trainer has published new weights and each worker has played, all workers are paused until
nothing is in flight. What the registry says then must agree exactly. The run has no stop of its
own, which a fast machine would reach before the fleet is looked at: it is ended after that, once
its steps are made.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import TypeVar

from zerofleet import games, plugins
from zerofleet.bus import Bus, BusUnreachable
from zerofleet.bus.redis import RedisBus
from zerofleet.errors import EngineFailed
from zerofleet.fleet.local import Roles, run_fleet
from zerofleet.fleet.local_redis import address_in, url_file
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.validation_runs import PRESET, SETTINGS, ValidationRuns, last_step
from zerofleet.runs.folder import Run, find

NAME = "fleet"
REASON = "looked at by a validation"
SERVER = "inference"
WORKERS: Mapping[str, str] = {
    "worker-onnx": "onnx",
    "worker-torch": "torch",
    "worker-remote": "remote",
}
"""One worker of each kind: its id and its evaluator."""
REMOTE = "remote"
"""What the registry shows as the device of a worker that asks inference servers."""

PATIENCE_S = 120.0
"""For workers to start, to load what is published, and for their games to be logged."""
POLL_S = 0.1
SHOW_S = 1.0
LAST_LINES = 12
"""Of the role that failed, in the error about its fleet."""
ENDING = ": ending the fleet"
"""Ends the line that says which role failed."""

Found = TypeVar("Found")


@dataclass(frozen=True)
class QuietFleet:
    """What the registry said of a paused fleet, once it agreed, or at the end of the patience."""

    published: str
    """SHA-256 of the weights in Redis."""
    loaded: Mapping[str, str]
    """The same of what each worker or inference server evaluates with, by its id."""
    played: Mapping[str, int]
    """Games that each worker has finished."""
    logged: int
    """Games in the trainer's log."""
    waiting: int
    """Games in Redis that are not in the log."""

    @property
    def agrees(self) -> bool:
        """Whether all that must be equal is."""
        same_weights = set(self.loaded.values()) == {self.published}
        return same_weights and sum(self.played.values()) == self.logged and not self.waiting


@dataclass(frozen=True)
class FleetRun:
    run: Run
    quiet: QuietFleet | None
    """None where it was never seen with all its workers paused."""


def run_small_fleet(runs: ValidationRuns) -> FleetRun:
    """Runs a trainer, a worker of each kind, an inference server and a rater for at least as many
    steps as the embedded run. EngineFailed where a role fails."""
    lines: list[str] = []

    def keep(line: str) -> None:
        lines.append(line)
        runs.say(f"{NAME}: {line}")

    stop, is_over, is_done = GracefulStop(), threading.Event(), threading.Event()

    def finish() -> None:
        is_done.set()
        stop.requested = True

    with stop.on_signals(lambda: None), ThreadPoolExecutor(1) as watcher:
        watched = watcher.submit(look, runs, is_over, finish)
        try:
            status = run_fleet(NAME, roles_of(runs), None, stop, keep)
        finally:
            is_over.set()
    if stop.requested and not is_done.is_set():
        raise KeyboardInterrupt
    if status != 0 or last_step(find(NAME)) < runs.scale.publications:
        raise EngineFailed(f"the fleet ended with status {status}: {' | '.join(cause_in(lines))}")
    return FleetRun(find(NAME), watched.result())


def roles_of(runs: ValidationRuns) -> Roles:
    """The command lines of the roles."""
    common = ["--run", NAME]
    common += [part for path in plugins.loaded() for part in ("--plugin", path)]
    given = [f"{name}={value}" for name, value in runs.concurrent_settings().items()]
    settings = [*SETTINGS, *runs.scale.settings, *runs.scale.concurrent, *runs.settings, *given]
    settings.append("stop.steps=null")
    options = [f"{name}={value}" for name, value in runs.options.items()]
    trainer = ["trainer", runs.game, *common, "--preset", PRESET, "--threads", "1"]
    trainer += [part for each in settings for part in ("--set", each)]
    trainer += [part for each in options for part in ("--option", each)]
    source = ["--game", games.absolute(runs.game)] if games.is_source(runs.game) else []
    server = ["inference", *common, *source, "--server-id", SERVER, "--device", runs.device]
    workers = [
        [
            *("worker", *common, *source, "--processes", "1", "--worker-id", worker_id),
            *("--evaluator", kind, "--device", "cpu" if kind == "onnx" else runs.device),
        ]
        for worker_id, kind in WORKERS.items()
    ]
    rater = ["rater", *common, *source, "--rater-id", "rater"]
    return Roles(trainer, [server, *workers], rater)


def cause_in(lines: Sequence[str]) -> Sequence[str]:
    """The last lines of the role that ended the fleet, where one did; else of all."""
    for number, line in enumerate(lines):
        if line.endswith(ENDING):
            name = line.split()[0]
            return [each for each in lines[:number] if each.startswith(name)][-LAST_LINES:]
    return lines[-LAST_LINES:]


# ---- looking at it


def look(
    runs: ValidationRuns, is_over: threading.Event, finish: Callable[[], None]
) -> QuietFleet | None:
    """Pauses the workers once new weights are published and each has played, and reads the registry
    once it agrees. Calls `finish` after that, when the steps of the embedded run are made."""
    num_steps = runs.scale.publications
    quiet = None
    runs.show(f"{NAME} run: starting", 0, num_steps)
    if (bus := first_of(connected, is_over)) is None:
        return None
    with closing(bus), suppress(BusUnreachable):  # it ends with the fleet
        begun_with = first_of(bus.weights_version, is_over)
        first_of(lambda: bus.weights_version() != begun_with, is_over)
        runs.show(f"{NAME} run: paused", 0, num_steps)
        bus.hold("", REASON)
        let_each_play(bus, is_over)
        quiet = quiet_fleet(bus, is_over)
        bus.hold("", "")
        while not is_over.wait(SHOW_S):
            num_made = steps_made(bus)
            runs.show(f"{NAME} run", min(num_made, num_steps), num_steps)
            if num_made >= num_steps:
                finish()
    return quiet


def steps_made(bus: Bus) -> int:
    """By the trainer, as the registry has them."""
    made = (each.counters.get("steps", 0) for each in bus.roles() if each.kind == "trainer")
    return int(max(made, default=0))


def connected() -> RedisBus | None:
    if not url_file(NAME).exists():
        return None
    try:
        return RedisBus(address_in(url_file(NAME)), NAME)
    except BusUnreachable:
        return None


def let_each_play(bus: Bus, is_over: threading.Event) -> None:
    """Resumes paused workers, once all are there, until each has finished a game; those that have
    wait for the others, so that the run does not end before. Leaves all paused."""
    end_s = time.monotonic() + PATIENCE_S
    have_played: set[str] = set()
    while len(have_played) < len(WORKERS) and time.monotonic() < end_s:
        if is_over.wait(POLL_S):
            return
        workers = [each for each in bus.roles() if each.kind == "worker"]
        if len(workers) < len(WORKERS):
            continue
        for each in workers:
            if each.counters.get("games", 0) and each.id not in have_played:
                have_played.add(each.id)
                bus.hold(each.id, REASON)
        bus.hold("", "")
    bus.hold("", REASON)
    for worker_id in have_played:
        bus.hold(worker_id, "")


def quiet_fleet(bus: Bus, is_over: threading.Event) -> QuietFleet | None:
    """Waits until all roles are there, all workers paused, and the registry agrees, at most
    PATIENCE_S."""
    end_s = time.monotonic() + PATIENCE_S
    quiet = None
    while time.monotonic() < end_s and not is_over.wait(POLL_S):
        roles = bus.roles()
        paused = [each for each in roles if each.kind == "worker" and REASON in each.doing]
        servers = [each for each in roles if each.kind == "inference"]
        trainers = [each for each in roles if each.kind == "trainer"]
        published = bus.other_weights(-1)
        if len(paused) < len(WORKERS) or not servers or not trainers or published is None:
            continue
        evaluating = [*(each for each in paused if each.device != REMOTE), *servers]
        quiet = QuietFleet(
            published=published.sha256,
            loaded={each.id: each.weights_sha256 for each in evaluating},
            played={each.id: int(each.counters.get("games", 0)) for each in paused},
            logged=int(trainers[0].counters.get("games", 0)),
            waiting=bus.backlog().num_episodes,
        )
        if quiet.agrees:
            break
    return quiet


def first_of(look: Callable[[], Found], is_over: threading.Event) -> Found | None:
    """What `look` finds, once that is true; None where the fleet ends first."""
    while not is_over.wait(POLL_S):
        if found := look():
            return found
    return None
