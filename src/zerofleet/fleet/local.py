"""A fleet on one machine: Redis and all roles as processes, started and ended together.

    run_fleet("c4", Roles(trainer, workers, rater), redis_url=None, stop=stop, say=print)

Each line of a role's output begins with its name. All end when the trainer ends, or when the parent
dies in whatever way.
"""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from zerofleet.config import Config
from zerofleet.fleet.handshake import POLL_S, Say, rest
from zerofleet.fleet.hardware import plan_devices
from zerofleet.fleet.local_redis import LocalRedis, url_file
from zerofleet.fleet.machine import memory_bytes
from zerofleet.fleet.processes import Process, end, own_command
from zerofleet.fleet.session import plan_for
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.worker_processes import PROCESS_BYTES
from zerofleet.games import Game

WORKER_PATIENCE_S = 60.0
TRAINER_PATIENCE_S = 300.0
"""For a role to end by itself: a trainer writes a checkpoint first."""
NAME_WIDTH = 9


@dataclass(frozen=True)
class Roles:
    """The command lines of the roles, without the program."""

    trainer: Sequence[str]
    workers: Sequence[Sequence[str]]
    rater: Sequence[str]


@dataclass(frozen=True)
class Cores:
    """How the machine is divided, as a run in one process divides it."""

    num_workers: int
    num_search_threads: int
    """Of each worker; 0 on a CPU."""
    num_training_threads: int
    devices: Sequence[str]
    """Of inference; workers have them in turn."""

    def __str__(self) -> str:
        return (
            f"{self.num_workers} worker processes on {', '.join(self.devices)}, "
            f"{self.num_training_threads} threads for training"
        )


def divide(config: Config, game: Game, num_workers: int | None) -> Cores:
    """With a number of workers, or as many as cores and memory allow."""
    devices = plan_devices(config)
    plan = plan_for(config, devices, game.in_python)
    fitting = min(plan.num_workers, max(1, memory_bytes() // PROCESS_BYTES))
    return Cores(num_workers or fitting, plan.search, plan.training, devices.inference)


def run_fleet(run: str, roles: Roles, redis_url: str | None, stop: GracefulStop, say: Say) -> int:
    """Runs all roles until the trainer ends, one of them fails, or a signal. Returns the exit
    status: that of the trainer, or of the role that failed. Starts Redis unless one is given."""

    def on_line(name: str, line: str) -> None:
        say(f"{name:<{NAME_WIDTH}} {line}")

    with ExitStack() as stack:
        environment: dict[str, str] = {}
        redis: LocalRedis | None = None
        if redis_url is None:
            redis = LocalRedis(run, on_line)
            stack.callback(redis.close)
            environment["REDIS_URL_FILE"] = str(url_file(run).absolute())
            say(f"Redis for this run at {redis.address}; address and password in {url_file(run)}")
        start = partial(Process, on_line=on_line, environment=environment)
        trainer = start("trainer", own_command(*roles.trainer))
        stack.callback(partial(end, [trainer], TRAINER_PATIENCE_S))
        others = [
            start(f"worker-{number}", own_command(*command))
            for number, command in enumerate(roles.workers)
        ]
        others.append(start("rater", own_command(*roles.rater)))
        stack.callback(partial(end, others, WORKER_PATIENCE_S))
        return ended_first(trainer, others, redis, stop, say)


def ended_first(
    trainer: Process,
    others: Sequence[Process],
    redis: LocalRedis | None,
    stop: GracefulStop,
    say: Say,
) -> int:
    """Waits for what ends the fleet; returns its exit status."""
    while not stop.requested:
        if (status := trainer.exit_status) is not None:
            return status
        if redis is not None and redis.exit_status is not None:
            say(f"Redis ended with status {redis.exit_status}: ending the fleet")
            return redis.exit_status or 1
        for process in others:
            if process.exit_status and not ends_soon(trainer, stop):
                say(f"{process.name} ended with status {process.exit_status}: ending the fleet")
                return process.exit_status
        rest(POLL_S, stop)
    say("ending workers, then the trainer")
    return 0


def ends_soon(trainer: Process, stop: GracefulStop) -> bool:
    """Whether the trainer ends within a moment, so that its status counts."""
    rest(5 * POLL_S, stop)
    return trainer.exit_status is not None or stop.requested
