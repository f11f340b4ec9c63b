"""A fleet of real processes around a real Redis, for tests that kill, stop and starve them.

    with Fleet(tmp_path, server) as fleet:
        trainer, worker = fleet.trainer(), fleet.worker("a")
        fleet.wait_for(lambda: len(fleet.logged()) > 100, "games")
        worker.kill()
        fleet.worker("a")
        fleet.finish()          # ends all roles: each game that was spooled is logged, once

A role is the command line of its verb in a separate process. Processes are forked from a server
that has imported torch already, so that a start takes a second. `spoil` is called in that process
before the role starts: it injects the fault that a test is about (fleet_spoils).
"""

import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Self, TypeVar

from fleet_history import GameId, SpoolWatch, check_each_once, keep_before_deletion, logged
from redis_server import RedisServer

from zerofleet.bus import RoleEntry
from zerofleet.bus.redis import RedisBus

RUN = "r"
PATIENCE_S = 120.0
SETTINGS = (
    "search.num_simulations=4",
    "selfplay.num_groups=1",
    "selfplay.games_per_group=32",
    "network.preset=tiny",
    "replay.min_rows=200",
    "replay.capacity_rows=300000",  # the log keeps all games
    "replay.samples_per_row=0.1",  # training never makes self-play wait
    "replay.segment_bytes=16384",  # many files, so that workers delete some
    "train.batch_size=16",
    "train.publish_every_steps=20",
    "train.checkpoint_every_steps=20",
    "train.keep_checkpoints=2",
    "rating.interval_minutes=0",
    "rating.final_games=0",
    "fleet.play_ahead_rows=20000",
    "fleet.trainer_timeout_s=2",
    "fleet.resend_after_s=1",
)

Found = TypeVar("Found")
Spoil = Callable[[], object]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(
    [
        *("zerofleet.cli", "zerofleet.fleet.trainer_role", "zerofleet.fleet.worker_role"),
        *("torch._inductor.config", "torch.onnx", "onnxscript", "onnxruntime", "tensorboard"),
    ]
)


class Role:
    """One process of a fleet."""

    def __init__(
        self,
        arguments: list[str],
        environment: Mapping[str, str],
        output: Path,
        spoil: Spoil,
        executes: bool,
    ) -> None:
        self._output = output
        self.is_seen = False
        """Whether its end was noticed."""
        self._process = _context.Process(
            target=_run_role, args=(arguments, environment, output, spoil, executes), daemon=True
        )
        self._process.start()

    @property
    def output(self) -> str:
        return self._output.read_text() if self._output.exists() else ""

    @property
    def exit_status(self) -> int | None:
        """None while it runs; negative: the signal that killed it."""
        return self._process.exitcode

    @property
    def has_failed(self) -> bool:
        """Whether it ended by itself with an error."""
        return (self.exit_status or 0) > 0 and not self.is_seen

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def pause(self) -> None:
        self.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """SIGKILL: it can do nothing about it."""
        if self._process.is_alive():
            self._process.kill()
        self._process.join()

    def ended(self) -> int:
        """The exit status, once it has ended by itself."""
        self._process.join(PATIENCE_S)
        self.is_seen = True
        assert self._process.exitcode is not None, f"it has not ended:\n{self.output}"
        return self._process.exitcode

    def stop(self) -> None:
        """SIGTERM: it drains and ends well."""
        self.send_signal(signal.SIGTERM)
        assert self.ended() == 0, self.output


def _run_role(
    arguments: list[str],
    environment: Mapping[str, str],
    output: Path,
    spoil: Spoil,
    executes: bool,
) -> None:
    """The target of a role's process. With `executes` it is replaced by a fresh one, for what must
    be there from its start, such as a library."""
    file = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    os.dup2(file, 1)
    os.dup2(file, 2)
    sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    os.environ.clear()
    os.environ.update(environment)
    keep_before_deletion(Path(environment["ZEROFLEET_SPOOL"]))
    spoil()
    if executes:
        command = [sys.executable, "-m", "zerofleet", *arguments]
        os.execve(sys.executable, command, {**environment, "PYTHONUNBUFFERED": "1"})
    from zerofleet.cli import main

    main(arguments)


def nothing() -> None:
    """Spoils nothing."""


class Fleet:
    """Roles of one run that share a Redis; each has its own folders."""

    def __init__(
        self, folder: Path, server: RedisServer, *settings: str, spool: Path | None = None,
        runs: Path | None = None, url: str = "",
    ) -> None:  # fmt: skip
        self.server = server
        self.runs = runs or folder / "runs"
        self._folder = folder
        self.spool = spool or folder / "spool"
        self.url = url or str(server.address())
        self._settings = [*SETTINGS, *settings]
        self.watch = SpoolWatch(self.spool)
        self.started: list[tuple[str, Role]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *fault: object) -> None:
        for name, role in self.started:
            role.kill()
            print(f"---- {name}:\n{role.output}")
        self.watch.close()

    # ---- roles

    def trainer(
        self,
        spoil: Spoil = nothing,
        runs: Path | None = None,
        options: Sequence[str] = (),
        **more: Any,
    ) -> Role:
        sets = [word for each in self._settings for word in ("--set", each)]
        arguments = ["trainer", "tictactoe", "--preset", "fast", "--run", RUN, "--threads", "1"]
        arguments += ["--no-check", "--device", "cpu", *options]
        return self._start("trainer", [*arguments, *sets], spoil, runs or self.runs, **more)

    def worker(
        self, worker_id: str = "a", spoil: Spoil = nothing, options: Sequence[str] = (), **more: Any
    ) -> Role:
        arguments = ["worker", "--run", RUN, "--worker-id", worker_id, "--processes", "1"]
        arguments += ["--evaluator", "onnx", "--device", "cpu", *options]
        return self._start(worker_id, arguments, spoil, self.runs, **more)

    def inference(
        self,
        server_id: str = "i",
        spoil: Spoil = nothing,
        options: Sequence[str] = (),
        **more: Any,
    ) -> Role:
        arguments = ["inference", "--run", RUN, "--server-id", server_id, "--device", "cpu"]
        return self._start(server_id, [*arguments, *options], spoil, self.runs, **more)

    def remote_worker(self, worker_id: str = "a", *options: str, **more: Any) -> Role:
        """One that asks inference servers."""
        arguments = ["worker", "--run", RUN, "--worker-id", worker_id, "--processes", "1"]
        arguments += ["--evaluator", "remote", "--device", "cpu", *options]
        return self._start(worker_id, arguments, nothing, self.runs, **more)

    def _start(
        self,
        name: str,
        arguments: list[str],
        spoil: Spoil,
        runs: Path,
        url: str = "",
        executes: bool = False,
        environment: Mapping[str, str] | None = None,
    ) -> Role:
        output = self._folder / f"{len(self.started)}-{name}.txt"
        own = {
            **os.environ,
            "ZEROFLEET_RUNS": str(runs),
            "ZEROFLEET_SPOOL": str(self.spool),
            "REDIS_URL": url or self.url,
            **(environment or {}),
        }
        role = Role(arguments, own, output, spoil, executes)
        self.started.append((name, role))
        return role

    # ---- what happens

    def spooled(self) -> set[GameId]:
        return self.watch.spooled()

    def logged(self, runs: Path | None = None) -> list[GameId]:
        return logged((runs or self.runs) / RUN)

    def in_flight(self) -> set[GameId]:
        """Games that a worker has spooled and the trainer has not logged."""
        return self.spooled() - set(self.logged())

    def waiting(self) -> int:
        """Entries of all streams in Redis."""
        with closing(self.server.client()) as client:
            streams = client.keys(f"zf:{{{RUN}}}:episodes:*")
            return sum(int(client.xlen(each)) for each in streams)

    def roles(self) -> dict[str, RoleEntry]:
        with closing(RedisBus(self.server.address(), RUN)) as bus:
            return {entry.id: entry for entry in bus.roles()}

    def counter(self, role_id: str, name: str) -> float:
        """What a role said last in the registry; 0 before it said so."""
        entry = self.roles().get(role_id)
        return entry.counters.get(name, 0.0) if entry else 0.0

    def wait_for(
        self, look: Callable[[], Found], what: str, patience_s: float = PATIENCE_S
    ) -> Found:
        """What a look finds, once it finds something."""
        end_s = time.monotonic() + patience_s
        while not (found := look()):
            assert time.monotonic() < end_s, f"waited in vain for {what}"
            failed = [name for name, role in self.started if role.has_failed]
            assert not failed, f"{failed} ended while we waited for {what}"
            time.sleep(0.05)
        return found

    def wait_for_games(self, more: int = 100, runs: Path | None = None) -> None:
        """Until so many more are logged."""
        wanted = len(self.logged(runs)) + more
        self.wait_for(lambda: len(self.logged(runs)) >= wanted, f"{more} more games in the log")

    def wait_for_flight(self, at_least: int = 1) -> int:
        """Until so many games are spooled and not logged; how many."""
        return self.wait_for(
            lambda: n if (n := len(self.in_flight())) >= at_least else 0,
            f"{at_least} games in flight",
        )

    def wait_for_unread(self, at_least: int = 50) -> int:
        """With a trainer that does not run, until so many more games are in Redis: it has not read
        them. Returns how many."""
        before = self.waiting()
        return self.wait_for(
            lambda: n if (n := self.waiting() - before) >= at_least else 0,
            f"{at_least} games that the trainer has not read",
        )

    # ---- the end

    def finish(self, runs: Path | None = None) -> int:
        """Ends the workers, which wait until all their games are confirmed, and kills the trainer;
        then each spooled game is in the log, once. Returns how many there are."""
        alive = [(name, role) for name, role in self.started if role.exit_status is None]
        for name, role in sorted(alive, key=lambda each: each[0] == "trainer"):
            if name == "trainer":
                role.kill()
            else:
                role.stop()
            assert "wait in the spool" not in role.output, role.output
        spooled, in_log = self.spooled(), self.logged(runs)
        check_each_once(spooled, in_log)
        assert not list(((runs or self.runs) / RUN / "refused").glob("*"))
        assert list(self.spool.glob("*/*/*.games")) == []
        return len(in_log)
