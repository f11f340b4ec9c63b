"""One session of a run: its parts in order of construction, its main loop, and its end.

`TrainerSession` is the trainer over any bus. `Session` is a whole run in one process: the same
trainer, with workers and a rater beside it.
"""

import copy
import math
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Literal

from zerofleet import _core, nets
from zerofleet.bus import Bus, MemoryBus
from zerofleet.config import Config
from zerofleet.cores import CpuGauge
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.callbacks import Callbacks, step_callback, version_callback
from zerofleet.fleet.group_sizes import games_per_group
from zerofleet.fleet.hardware import DevicePlan, ThreadPlan, plan_devices, plan_threads
from zerofleet.fleet.rater import OwnMatches, Rater, known_opponents
from zerofleet.fleet.screen import Screen
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.status import SelfPlayTotals, gpu_values, status_values
from zerofleet.fleet.stop_conditions import StopConditions
from zerofleet.fleet.trainer_parts import count_start, kept_graph, opened_replay, restored_trainer
from zerofleet.infer import Evaluator, make_evaluator
from zerofleet.infer.devices import open_gauges
from zerofleet.metrics import MetricsLog, Sink
from zerofleet.remote import Uploader
from zerofleet.replay import Intake
from zerofleet.runs.folder import Run
from zerofleet.storage import Disk
from zerofleet.training import (
    CheckpointStore,
    RunCounters,
    TrainingLoop,
    WeightsPublisher,
    set_up_torch,
    train_together,
)
from zerofleet.training.loop import REPORT_INTERVAL_S
from zerofleet.weights import WeightsStore

STATUS_INTERVAL_S = 5.0
TURN_S = 0.01
"""Longest wait of the loop for a batch: in one process, self-play runs ahead unlimited so long."""


class TrainerSession:
    """The trainer of a run. `stack` closes what is opened here."""

    def __init__(
        self,
        config: Config,
        run: Run,
        bus: Bus,
        devices: DevicePlan,
        num_threads: int,
        sinks: Sequence[Sink],
        screen: Screen,
        stack: ExitStack,
    ) -> None:
        self.config, self.run, self.bus, self.screen = config, run, bus, screen
        self.game = run.game()
        self._faults: list[BaseException] = []

        # The machine.
        self.devices = devices
        self.gauges = open_gauges([*devices.inference, *devices.training], screen.say)
        self._cpu = CpuGauge()
        set_up_torch(config.run.seed, num_threads, config.run.deterministic)

        # Files and metrics. What follows is closed before the last upload.
        self.graceful_stop = GracefulStop()
        self.disk = Disk(screen.say, lambda: self.graceful_stop.requested)
        self.network = nets.build(self.game, config.network.preset, **config.network.options)
        self.graph = kept_graph(run, self.network, self.disk, screen.say)
        self.started_s = time.monotonic()
        self.metrics = stack.enter_context(MetricsLog(run.folder, [*sinks, screen], self.disk))
        self.uploader: Uploader | None = None
        if config.run.s3_url is not None:
            self.uploader = stack.enter_context(
                Uploader(run, config.run.s3_url, screen.say, self.fail)
            )

        # The trainer: checkpoint, replay buffer, loop.
        weights = WeightsStore(run.weights)
        checkpoints = CheckpointStore(run.checkpoints, config.train.keep_checkpoints)
        trainer, state = restored_trainer(
            config, self.network, devices.training[0], weights, checkpoints, screen.say
        )
        if len(devices.training) > 1:
            stack.enter_context(
                train_together(trainer, devices.training, num_threads, config.run.seed)
            )
        replay = opened_replay(run, config, self.game, state.get("replay"), screen.say)
        stack.callback(replay.close)
        intake = Intake(
            replay,
            run.refused,
            self.disk,
            screen.say,
            # Senders on a bus in this process die with it.
            syncs=not isinstance(bus, MemoryBus),
        )
        stack.callback(intake.close)
        self.first_step = trainer.step_count
        self.metrics.rewind(trainer.step_count)
        num_starts = count_start(run, self.disk, state["num_starts"])
        self.loop = TrainingLoop(
            trainer=trainer,
            replay=replay,
            intake=intake,
            checkpoints=checkpoints,
            weights=weights,
            bus=bus,
            metrics=self.metrics,
            disk=self.disk,
            settings=config.train,
            counters=RunCounters(num_starts, state["num_rounds"]),
            # In lockstep, one thread plays and trains: it hands the weights over itself.
            publisher=(
                None
                if config.run.deterministic
                else WeightsPublisher(bus, self.fail, self._upload_of_weights())
            ),
            on_save=None if self.uploader is None else self.uploader.save,
            # In lockstep, reports come after rounds, which are reproducible.
            report_interval_s=math.inf if config.run.deterministic else REPORT_INTERVAL_S,
        )
        if trainer.step_count not in weights.versions():  # new, or killed after its checkpoint
            self.disk.write(self.loop.keep_weights)
        self.stop = StopConditions(config, self.loop, self.started_s)

    def _upload_of_weights(self) -> Callable[[str, bytes], None] | None:
        """What makes weights available in S3; None where nobody fetches them there."""
        is_wanted = self.config.fleet.weights_from == "s3" and not isinstance(self.bus, MemoryBus)
        return self.uploader.saved.put_weights if self.uploader and is_wanted else None

    # ---- running

    @property
    def stopping(self) -> bool:
        """Whether a signal, a fault or the bus asks for the end."""
        return self.graceful_stop.requested or bool(self._faults) or self.bus.stopping

    def train_until_stop(
        self,
        rater: Rater,
        read_totals: Callable[[], SelfPlayTotals],
        on_turn: Callable[[bool], None],
    ) -> None:
        """Trains as far as the rate limiter allows, saves and rates. `on_turn` is called at the
        start of each turn of the loop with whether the last one trained: games that it takes in
        are trained on before they can end the run."""
        loop = self.loop
        status_at_s = time.monotonic()
        may_train = False
        while not self.stopping and (progress := self.stop.progress()) < 1:
            on_turn(may_train)
            may_train = loop.wait_to_train(TURN_S)
            if may_train:
                loop.step(progress)
            rating_is_due = rater.is_due()
            if rating_is_due or loop.checkpoint_is_due():
                loop.save()
            if rating_is_due:
                rater.start(loop.step_count, loop.trainer.copy_ema())
            if time.monotonic() - status_at_s >= STATUS_INTERVAL_S:
                status_at_s = time.monotonic()
                self.write_status(read_totals())

    def write_status(self, played: SelfPlayTotals) -> None:
        elapsed_s = time.monotonic() - self.started_s
        values = status_values(elapsed_s, self.loop, played, self.game.max_plies)
        if (busy := self._cpu.read()) is not None:
            values["cpu_busy"] = busy
        self.metrics.append("status", self.loop.step_count, values | gpu_values(self.gauges))

    def write_event(self, kind: Literal["weights_refused", "fault"], text: str) -> None:
        """Something that a person who looks at the run should know of."""
        self.metrics.append(kind, self.loop.step_count, {"text": text})

    # ---- the end

    def fail(self, fault: BaseException) -> None:
        """Ends the session; `finish` raises the first fault."""
        if isinstance(fault, ZerofleetError):
            self.write_event("fault", str(fault))
        self._faults.append(fault)

    def raise_fault(self) -> None:
        """Raises the fault that ended the run, if any."""
        if self._faults:
            raise self._faults[0]

    def finish(self) -> None:
        """Writes the last checkpoint; raises the fault that ended the run, if any."""
        if self.graceful_stop.requested:
            self.screen.say("stopping: writing a checkpoint; Ctrl-C again stops at once")
        try:
            self.loop.report()
            self.loop.save()
        finally:
            self.raise_fault()

    @property
    def rates_at_end(self) -> bool:
        """Whether the run reached its stop and is to be rated there."""
        has_trained = self.loop.step_count > self.first_step
        wanted = self.config.rating.final_games > 0
        return wanted and has_trained and not self.graceful_stop.requested

    def start_text(self, threads: object) -> str:
        network = self.loop.trainer.network
        return (
            f"{self.run.name}: {self.config.game.name}, {network.spec.kind} network of "
            f"{network.num_parameters:,} parameters on {self.devices}; {threads}; "
            f"{'resuming at' if self.first_step else 'from'} step {self.first_step}"
        )

    def end_text(self) -> str:
        loop = self.loop
        return (
            f"{self.run.name}: {loop.step_count:,} steps, "
            f"{loop.replay.log.position.num_episodes:,} games{self.stop.reached_text()}"
        )


class Session(TrainerSession):
    """A run in one process."""

    def __init__(
        self,
        config: Config,
        run: Run,
        sinks: Sequence[Sink],
        screen: Screen,
        callbacks: Callbacks,
        stack: ExitStack,
    ) -> None:
        # The trainer, with its share of the machine.
        devices = plan_devices(config)
        self.plan = plan_for(config, devices, run.game().in_python)
        super().__init__(
            config, run, MemoryBus(), devices, self.plan.training, sinks, screen, stack
        )

        # The workers' share; they are made when they begin to play.
        device = devices.inference[0]
        self.num_groups = config.selfplay.num_groups or self.plan.num_groups
        self.games_per_group = games_per_group(
            config, self.game, self.network, device, self.plan, screen.say
        )
        cache_bytes = config.selfplay.cache_bytes
        self.cache = _core.EvaluationCache(cache_bytes) if cache_bytes else None

        # The rater, now: torch cannot export or capture a network while another one trains.
        opponents = known_opponents(config, self.loop.weights, screen.say)
        self.rater = Rater(
            matches=OwnMatches(
                run, self.game, config, self.make_evaluator(device), device, opponents
            ),
            config=config,
            weights=self.loop.weights,
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
        screen.say(self.start_text(self.plan))

    def make_evaluator(self, device: str, compiles: bool = False) -> Evaluator:
        """An evaluator with the current EMA weights."""
        trainer = self.loop.trainer
        network = copy.deepcopy(trainer.network).cpu().eval()
        network.load_state_dict(trainer.ema)
        kind = self.config.run.own_evaluator
        evaluator = make_evaluator(network, kind, device, num_threads=1, compiles=compiles)
        evaluator.load(trainer.ema, trainer.step_count)
        return evaluator

    @property
    def compiles(self) -> bool:
        """Whether inference or training is compiled, which takes minutes."""
        for_play = self.devices.inference_kind == "cuda" and self.config.run.compile_inference
        return for_play or self.loop.trainer.compiles

    def stop_soon(self) -> None:
        """The action of the first Ctrl-C. It may interrupt a print, so it prints nothing."""
        self.bus.stop()
        self.rater.interrupt()

    def fail(self, fault: BaseException) -> None:
        super().fail(fault)
        self.bus.stop()

    def finish(self) -> None:
        """Saves, raises a fault, and rates a run that reached its stop."""
        super().finish()
        if self.rates_at_end:
            loop, num_games = self.loop, self.config.rating.final_games
            self.rater.rate(loop.step_count, loop.trainer.copy_ema(), num_games)


def plan_for(config: Config, devices: DevicePlan, game_in_python: bool) -> ThreadPlan:
    if config.run.deterministic:
        return ThreadPlan(num_workers=1, search=0, training=1)
    return plan_threads(
        config.run,
        devices.inference_kind,
        game_in_python,
        len(devices.inference),
        len(devices.training),
    )
