"""One session of a run in one process: its parts, in order of construction, and its end."""

import copy
import math
import re
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Any

from zerofleet import _core, nets
from zerofleet.bus import MemoryBus
from zerofleet.config import Config
from zerofleet.errors import BadBytes, Unsupported
from zerofleet.fleet.callbacks import Callbacks, step_callback, version_callback
from zerofleet.fleet.group_sizes import games_per_group
from zerofleet.fleet.hardware import ThreadPlan, plan_devices, plan_threads
from zerofleet.fleet.rater import Rater
from zerofleet.fleet.screen import Screen
from zerofleet.fleet.status import gpu_values, status_values
from zerofleet.infer import Evaluator, make_evaluator, pick_device
from zerofleet.infer.devices import open_gauges
from zerofleet.metrics import MetricsLog, Sink
from zerofleet.nets.onnx import exported
from zerofleet.replay import Replay
from zerofleet.runs.folder import Run
from zerofleet.selfplay.worker import Worker
from zerofleet.storage import Disk, write_whole
from zerofleet.training import (
    CheckpointStore,
    RunCounters,
    Trainer,
    TrainingLoop,
    WeightsPublisher,
    set_up_torch,
    train_together,
)
from zerofleet.training.loop import REPORT_INTERVAL_S
from zerofleet.weights import WeightsStore, remove_graph, write_graph


class Session:
    """The parts of a run. `stack` closes what is opened here."""

    def __init__(
        self,
        config: Config,
        run: Run,
        sinks: Sequence[Sink],
        screen: Screen,
        callbacks: Callbacks,
        stack: ExitStack,
    ) -> None:
        self.config, self.run, self.screen = config, run, screen
        self.game = run.game()
        self._faults: list[BaseException] = []

        # The machine.
        self.devices = plan_devices(config)
        self.gauges = open_gauges([*self.devices.inference, *self.devices.training], screen.say)
        self.plan = self._plan_threads()
        self.num_groups = config.selfplay.num_groups or self.plan.num_groups
        set_up_torch(config.run.seed, self.plan.training, config.run.deterministic)
        cache_bytes = config.selfplay.cache_bytes
        self.cache = _core.EvaluationCache(cache_bytes) if cache_bytes else None

        # Shared by the roles.
        self.bus = MemoryBus()
        self.graceful_stop = GracefulStop()
        self.disk = Disk(screen.say, lambda: self.graceful_stop.requested)
        network = nets.build(self.game, config.network.preset, **config.network.options)
        self._keep_graph(network)
        self.started_s = time.monotonic()
        self.metrics = stack.enter_context(MetricsLog(run.folder, [*sinks, screen], self.disk))
        self.games_per_group = games_per_group(
            config, self.game, network, self.devices.inference[0], self.plan, screen.say
        )

        # The trainer: network, checkpoint, replay buffer, loop.
        weights = WeightsStore(run.weights)
        checkpoints = CheckpointStore(run.checkpoints, config.train.keep_checkpoints)
        trainer, state = self._restored_trainer(network, weights, checkpoints)
        if len(self.devices.training) > 1:
            stack.enter_context(
                train_together(trainer, self.devices.training, self.plan.training, config.run.seed)
            )
        replay = self._opened_replay(state.get("replay"))
        stack.callback(replay.close)
        self.first_step = trainer.step_count
        self.metrics.rewind(trainer.step_count)
        self.loop = TrainingLoop(
            trainer=trainer,
            replay=replay,
            checkpoints=checkpoints,
            weights=weights,
            bus=self.bus,
            metrics=self.metrics,
            disk=self.disk,
            settings=config.train,
            counters=RunCounters(self._count_start(state["num_starts"]), state["num_rounds"]),
            # In lockstep, one thread plays and trains: it hands the weights over itself.
            publisher=None if config.run.deterministic else WeightsPublisher(self.bus, self.fail),
            # In lockstep, reports come after rounds, which are reproducible.
            report_interval_s=math.inf if config.run.deterministic else REPORT_INTERVAL_S,
        )
        if trainer.step_count == 0:
            self.disk.write(self.loop.keep_weights)
        self.stop = StopConditions(config, self.loop, self.started_s)

        # The rater, now: torch cannot export or capture a network while another one trains.
        device = self.devices.inference[0]
        self.rater = Rater(
            run=run,
            game=self.game,
            config=config,
            evaluator=self.make_evaluator(device),
            device=device,
            weights=weights,
            metrics=self.metrics,
            disk=self.disk,
            screen=screen,
            started_s=self.started_s,
            on_fault=self.fail,
        )
        if callbacks.on_step is not None:
            self.loop.on_step = step_callback(callbacks.on_step, self.loop, self.bus)
        if callbacks.on_version is not None:
            evaluator = self.make_evaluator(device)
            self.loop.on_publish = version_callback(callbacks.on_version, evaluator, run)
        screen.say(self._start_text())

    # ---- parts

    def _plan_threads(self) -> ThreadPlan:
        if self.config.run.deterministic:
            return ThreadPlan(num_workers=1, search=0, training=1)
        return plan_threads(
            self.config.run,
            self.devices.inference_kind,
            self.game.in_python,
            len(self.devices.inference),
            len(self.devices.training),
        )

    def _keep_graph(self, network: nets.Network) -> None:
        """Exports the network's graph to the run folder, for players without torch."""
        try:
            graph = exported(network.spec)
        except Unsupported as error:
            remove_graph(self.run.folder)  # a graph from an earlier session would be stale
            self.screen.say(f"run:{self.run.name} needs torch to play: {error}")
        else:
            self.disk.write(lambda: write_graph(self.run.folder, graph))

    def _restored_trainer(
        self, network: nets.Network, weights: WeightsStore, checkpoints: CheckpointStore
    ) -> tuple[Trainer, dict[str, Any]]:
        """A trainer at the newest intact checkpoint, or at the run's initial weights; and the rest
        of the checkpoint."""
        device = pick_device(self.devices.training[0])
        trainer = Trainer(network, self.config.train, device, self.config.run.compile_training)
        checkpoint, faults = checkpoints.load_newest()
        for fault in faults:
            self.screen.say(fault)
        if checkpoint is not None:
            trainer.restore(checkpoint.tensors, checkpoint.rest["trainer"])
            return trainer, checkpoint.rest
        if 0 in weights.versions():
            trainer.begin_with(weights.load(0).tensors)
        return trainer, {"num_starts": 0, "num_rounds": 0}

    def _opened_replay(self, state: dict[str, Any] | None) -> Replay:
        """The episode log with its replay buffer; prints what recovery had to fix."""
        config = self.config
        replay = Replay(
            self.run.episodes,
            self.game,
            config.replay,
            config.run.seed,
            state,
            exactly=config.run.deterministic,
        )
        report = replay.log.report
        if report.torn_bytes:
            self.screen.say(f"episodes: truncated {report.torn_bytes} bytes of a torn record")
        for fault in report.damage:
            self.screen.say(str(fault))
        if replay.num_missing:
            self.screen.say(
                f"episodes: {replay.num_missing:,} earlier rows are missing; training "
                f"waits until there are {config.replay.min_rows:,} again"
            )
        return replay

    def _count_start(self, saved: int) -> int:
        """A number unique to this session: it makes the ids of its episodes unique."""
        path = self.run.folder / "starts"
        text = path.read_text(errors="replace") if path.exists() else str(saved)
        if not re.fullmatch(r"\d{1,9}", text):
            raise BadBytes(f"{path} is damaged: it must hold a number such as {saved + 1}")
        before = int(text)
        self.disk.write(lambda: write_whole(path, str(before + 1).encode()))
        return before + 1

    def make_evaluator(self, device: str, compiles: bool = False) -> Evaluator:
        """An evaluator with the current EMA weights."""
        trainer = self.loop.trainer
        network = copy.deepcopy(trainer.network).cpu().eval()
        network.load_state_dict(trainer.ema)
        kind = self.config.run.evaluator
        evaluator = make_evaluator(network, kind, device, num_threads=1, compiles=compiles)
        evaluator.load(trainer.ema, trainer.step_count)
        return evaluator

    # ---- running

    @property
    def compiles(self) -> bool:
        """Whether inference or training is compiled, which takes minutes."""
        for_play = self.devices.inference_kind == "cuda" and self.config.run.compile_inference
        return for_play or self.loop.trainer.compiles

    def write_status(self, workers: Sequence[Worker]) -> None:
        elapsed_s = time.monotonic() - self.started_s
        values = status_values(elapsed_s, self.loop, workers, self.game.max_plies)
        self.metrics.append("status", self.loop.step_count, values | gpu_values(self.gauges))

    # ---- the end

    def stop_soon(self) -> None:
        """The action of the first Ctrl-C. It may interrupt a print, so it prints nothing."""
        self.bus.stop()
        self.rater.interrupt()

    def fail(self, fault: BaseException) -> None:
        """Ends every role; `finish` raises the first fault."""
        self._faults.append(fault)
        self.bus.stop()

    def raise_fault(self) -> None:
        """Raises the fault that ended the run, if any."""
        if self._faults:
            raise self._faults[0]

    def finish(self) -> None:
        """Writes the last checkpoint, raises the fault that ended the run, if any, and rates a run
        that reached its stop."""
        loop = self.loop
        if self.graceful_stop.requested:
            self.screen.say("stopping: writing a checkpoint; Ctrl-C again stops at once")
        try:
            loop.report()
            loop.save()
        finally:
            self.raise_fault()
        num_games = self.config.rating.final_games
        if num_games and loop.step_count > self.first_step and not self.graceful_stop.requested:
            num_threads = self.config.run.num_threads or None
            self.rater.rate(loop.step_count, loop.trainer.copy_ema(), num_games, num_threads)

    def _start_text(self) -> str:
        network = self.loop.trainer.network
        return (
            f"{self.run.name}: {self.config.game.name}, {network.spec.kind} network of "
            f"{network.num_parameters:,} parameters on {self.devices}; {self.plan}; "
            f"{'resuming at' if self.first_step else 'from'} step {self.first_step}"
        )

    def end_text(self) -> str:
        loop = self.loop
        return (
            f"{self.run.name}: {loop.step_count:,} steps, "
            f"{loop.replay.log.position.num_episodes:,} games{self.stop.reached_text()}"
        )


class StopConditions:
    """Progress of a run towards the first of its stop conditions."""

    def __init__(self, config: Config, loop: TrainingLoop, started_s: float) -> None:
        self._settings = config.stop
        self._loop = loop
        self._started_s = started_s

    def progress(self) -> float:
        """From 0 to 1; always 0 for a run without a stop condition."""
        minutes = self._settings.minutes
        by_clock = (time.monotonic() - self._started_s) / 60 / minutes if minutes else 0.0
        return max(by_clock, self.progress_without_clock())

    def progress_without_clock(self) -> float:
        return max((reached / end for _, end, reached in self._ends()), default=0.0)

    def reached_text(self) -> str:
        return "".join(
            f"; reached stop.{name} {end:,}"
            for name, end, reached in self._ends()
            if reached >= end
        )

    def _ends(self) -> list[tuple[str, int, int]]:
        """Each condition: its name, its value, and what the run has reached."""
        stop, position = self._settings, self._loop.replay.log.position
        ends = (
            ("steps", stop.steps, self._loop.step_count),
            ("games", stop.games, position.num_episodes),
            ("rows", stop.rows, position.num_rows),
        )
        return [(name, end, reached) for name, end, reached in ends if end]


class GracefulStop:
    """Ctrl-C and SIGTERM as a request to stop.

    A handler must not take a non-reentrant lock: the interrupted thread may hold it.
    """

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def on_signals(self, when_requested: Callable[[], None]) -> Iterator[None]:
        """In this context the first signal requests a stop; a second raises KeyboardInterrupt."""

        def handle(number: int, frame: FrameType | None) -> None:
            if self.requested:
                raise KeyboardInterrupt
            self.requested = True
            when_requested()

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
