"""One go at a run: all that its roles need, where it is on its way, and how it ends."""

import copy
import math
import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from zerofleet import _core, nets
from zerofleet.bus import MemoryBus
from zerofleet.config import Config
from zerofleet.errors import BadBytes, Unsupported
from zerofleet.fleet.callbacks import CallbackRaised, Callbacks, StepInfo, VersionInfo
from zerofleet.fleet.devices import plan_devices
from zerofleet.fleet.group_sizes import games_per_group
from zerofleet.fleet.rater import Rater
from zerofleet.fleet.screen import Screen
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.status import gpu_values, status_values
from zerofleet.fleet.threads import ThreadPlan, plan_threads
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
    StepReport,
    Trainer,
    TrainingLoop,
    set_up_torch,
    train_together,
)
from zerofleet.training.loop import REPORT_EVERY_S
from zerofleet.weights import WeightsStore, remove_graph, write_graph


class Session:
    """Everything that a run needs to go on, by turns or side by side."""

    def __init__(
        self,
        config: Config,
        run: Run,
        sinks: Sequence[Sink],
        screen: Screen,
        callbacks: Callbacks,
        stack: ExitStack,
    ) -> None:
        self.config = config
        self.callbacks = callbacks
        self.run = run
        self.screen = screen
        self.game = run.game()
        self.devices = plan_devices(config)
        self.gauges = open_gauges([*self.devices.inference, *self.devices.training], screen.say)
        lockstep = config.run.deterministic
        self.plan = ThreadPlan(1, 0, 1)
        if not lockstep:
            self.plan = plan_threads(
                config.run,
                self.devices.inference_kind,
                self.game.in_python,
                len(self.devices.inference),
                len(self.devices.training),
            )
        self.num_groups = config.selfplay.num_groups or self.plan.num_groups
        set_up_torch(config.run.seed, self.plan.training, deterministic=lockstep)
        cache_bytes = config.selfplay.cache_bytes
        self.cache = _core.EvaluationCache(cache_bytes) if cache_bytes else None
        self.bus = MemoryBus()
        self.graceful_stop = GracefulStop()
        self.disk = Disk(screen.say, wants_end=lambda: self.graceful_stop.asked)
        network = nets.build(self.game, config.network.preset, **config.network.options)
        self._keep_graph(network)
        self.started_s = time.monotonic()
        self.metrics = stack.enter_context(MetricsLog(run.folder, [*sinks, screen], self.disk))

        self.games_per_group = games_per_group(
            config, self.game, network, self.devices.inference[0], self.plan, screen.say
        )
        trainer = Trainer(
            network,
            config.train,
            pick_device(self.devices.training[0]),
            config.run.compile_training,
        )
        weights = WeightsStore(run.weights)
        checkpoints = CheckpointStore(run.checkpoints, config.train.keep_checkpoints)
        found, faults = checkpoints.load_newest()
        state: dict[str, Any] = {"num_starts": 0, "num_rounds": 0}
        if found is not None:
            trainer.restore(found.tensors, found.rest["trainer"])
            state = found.rest
        elif 0 in weights.versions():
            trainer.begin_with(weights.load(0).tensors)
        if len(self.devices.training) > 1:
            stack.enter_context(
                train_together(trainer, self.devices.training, self.plan.training, config.run.seed)
            )
        replay = Replay(
            run.episodes,
            self.game,
            config.replay,
            config.run.seed,
            state.get("replay"),
            exactly=lockstep,
        )
        stack.callback(replay.close)
        report = replay.log.report
        if report.torn_bytes:
            faults = [
                *faults,
                f"episodes: cut {report.torn_bytes} bytes of a game that was not whole",
            ]
        for fault in [*faults, *report.damage]:
            screen.say(str(fault))
        if replay.num_missing:
            screen.say(
                f"episodes: {replay.num_missing:,} earlier rows are not here; training "
                f"waits until there are {config.replay.min_rows:,} again"
            )
        self.num_starts = self._count_start(int(state["num_starts"]))
        self.num_rounds = int(state["num_rounds"])
        self.first_step = trainer.step_count
        self.metrics.rewind(trainer.step_count)
        self.loop = TrainingLoop(
            trainer,
            replay,
            checkpoints,
            weights,
            self.bus,
            self.metrics,
            self.disk,
            config.train,
            # By turns, reports come after rounds, which are the same every time; clocks are not.
            report_every_s=math.inf if lockstep else REPORT_EVERY_S,
            on_step=self._on_step if callbacks.on_step else None,
            on_publish=self._on_publish if callbacks.on_version else None,
        )
        if trainer.step_count == 0:
            self.disk.write(self.loop.keep_weights)
        self.rater = Rater(
            self.game,
            run,
            config.rating,
            lambda: self.make_evaluator(self.devices.inference[0]),
            self.devices.inference[0],
            self.loop.weights,
            self.bus,
            self.metrics,
            self.disk,
            screen,
            config.run.seed,
            self.started_s,
        )
        # Now, as those of the rater: nothing can be exported or captured while a network trains.
        self._callback_evaluator = (
            self.make_evaluator(self.devices.inference[0]) if callbacks.on_version else None
        )
        screen.say(self._first_words())

    def _keep_graph(self, network: nets.Network) -> None:
        """Puts the network's graph into the run folder, for players without torch."""
        try:
            graph = exported(network.spec)
        except Unsupported as error:
            remove_graph(self.run.folder)  # that of an earlier start computes something else
            self.screen.say(f"run:{self.run.name} needs torch to play: {error}")
        else:
            self.disk.write(lambda: write_graph(self.run.folder, graph))

    def stop_soon(self) -> None:
        """What a first Ctrl-C does. It may come in the midst of a print, so it prints nothing."""
        self.bus.stop()
        self.rater.interrupt()

    def make_evaluator(self, device: str, compiles: bool = False) -> Evaluator:
        network = copy.deepcopy(self.loop.trainer.network).cpu().eval()
        network.load_state_dict(self.loop.trainer.ema)
        evaluator = make_evaluator(
            network,
            self.config.run.evaluator,
            device=device,
            num_threads=1,
            compiles=compiles,
        )
        evaluator.load(self.loop.trainer.ema, self.loop.step_count)
        return evaluator

    def _on_step(self, report: StepReport) -> None:
        assert self.callbacks.on_step is not None
        info = StepInfo(
            report.step,
            report.learning_rate,
            report.grad_norm,
            report.values,
            self.loop.replay.limiter.state.num_samples,
            self.loop.replay.log.position.num_episodes,
        )
        try:
            if self.callbacks.on_step(info) is False:
                self.bus.stop()
        except Exception as error:
            raise CallbackRaised(error) from error

    def _on_publish(self, version: int, weights: dict[str, Any]) -> None:
        assert self.callbacks.on_version is not None
        assert self._callback_evaluator is not None
        self._callback_evaluator.load(weights, version)
        info = VersionInfo(version, self.loop.step_count, self._callback_evaluator, self.run)
        try:
            self.callbacks.on_version(info)
        except Exception as error:
            raise CallbackRaised(error) from error

    @property
    def compiles(self) -> bool:
        """Whether inference or training is compiled, which takes a while."""
        for_play = self.devices.inference_kind == "cuda" and self.config.run.compile_inference
        return for_play or self.loop.trainer.compiles

    def finish(self) -> None:
        """Writes what is left, and raises what ended the run, if something did; one that has come
        to its end is rated."""
        if self.graceful_stop.asked:
            self.screen.say("stopping: a checkpoint is written; Ctrl-C again to stop at once")
        try:
            self.loop.report()
            self.loop.save(self.rest())
        finally:
            self.bus.raise_fault()
        num_games = self.config.rating.final_games
        if num_games and self.loop.step_count > self.first_step and not self.graceful_stop.asked:
            num_threads = self.config.run.num_threads or None
            average = self.loop.trainer.copy_ema()
            self.rater.rate(self.loop.step_count, average, num_games, num_threads)

    def progress(self) -> float:
        """Share of the way to the first of the run's ends; 0 where it has none."""
        minutes = self.config.stop.minutes
        by_clock = (time.monotonic() - self.started_s) / 60 / minutes if minutes else 0.0
        return max(by_clock, self.progress_without_clock())

    def progress_without_clock(self) -> float:
        return max((reached / end for _, end, reached in self._ends()), default=0.0)

    def _ends(self) -> list[tuple[str, int, int]]:
        """The run's ends, each by its name, where it is, and how far it has come."""
        stop, position = self.config.stop, self.loop.replay.log.position
        ends = (
            ("steps", stop.steps, self.loop.step_count),
            ("games", stop.games, position.num_episodes),
            ("rows", stop.rows, position.num_rows),
        )
        return [(name, end, reached) for name, end, reached in ends if end]

    def _count_start(self, saved: int) -> int:
        """A number that no earlier start of this run had: one half of its episodes' ids."""
        path = self.run.folder / "starts"
        text = path.read_text(errors="replace") if path.exists() else str(saved)
        if not re.fullmatch(r"\d{1,9}", text):
            raise BadBytes(f"{path} is damaged: it must hold a number such as {saved + 1}")
        before = int(text)
        self.disk.write(lambda: write_whole(path, str(before + 1).encode()))
        return before + 1

    def rest(self) -> dict[str, Any]:
        return {"num_starts": self.num_starts, "num_rounds": self.num_rounds}

    def write_status(self, workers: Sequence[Worker]) -> None:
        elapsed_s = time.monotonic() - self.started_s
        values = status_values(elapsed_s, self.loop, workers, self.game.max_plies) | gpu_values(
            self.gauges
        )
        self.metrics.append("status", self.loop.step_count, values)

    def _first_words(self) -> str:
        network = self.loop.trainer.network
        return (
            f"{self.run.name}: {self.config.game.name}, {network.spec.kind} network of "
            f"{network.num_parameters:,} parameters on {self.devices}; {self.plan}; "
            f"{'going on at' if self.first_step else 'from'} step {self.first_step}"
        )

    def last_words(self) -> str:
        ended = [
            f"; stop.{name} {end:,} is reached"
            for name, end, reached in self._ends()
            if reached >= end
        ]
        return (
            f"{self.run.name}: {self.loop.step_count:,} steps, "
            f"{self.loop.replay.log.position.num_episodes:,} games{''.join(ended)}"
        )
