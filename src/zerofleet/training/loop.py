"""The trainer role: takes episodes in, makes steps, publishes weights, writes checkpoints."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from zerofleet.bus import MemoryBus
from zerofleet.config import TrainConfig
from zerofleet.metrics import MetricsLog
from zerofleet.replay import LogPosition, Replay
from zerofleet.storage import Disk
from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.trainer import StepReport, Trainer
from zerofleet.weights import WeightsStore

REPORT_EVERY_S = 5.0
"""How often the means of the last steps are written down."""


@dataclass
class TrainerTimes:
    """Seconds of the trainer's thread, by what it did."""

    training_s: float = 0.0
    intake_s: float = 0.0
    waiting_for_games_s: float = 0.0


class TrainingLoop:
    """The trainer of a run and what it keeps up to date: replay, weights, checkpoints, metrics."""

    def __init__(
        self,
        trainer: Trainer,
        replay: Replay,
        checkpoints: CheckpointStore,
        weights: WeightsStore,
        bus: MemoryBus,
        metrics: MetricsLog,
        disk: Disk,
        settings: TrainConfig,
        report_every_s: float = REPORT_EVERY_S,
        on_step: Callable[[StepReport], None] | None = None,
        on_publish: Callable[[int, dict[str, Tensor]], None] | None = None,
    ) -> None:
        """`on_step` gets what each step found, and so waits for it; `on_publish` the version and
        weights of each publication after a step."""
        self.trainer = trainer
        self.replay = replay
        self.checkpoints = checkpoints
        self.weights = weights
        self.bus = bus
        self.metrics = metrics
        self.disk = disk
        self.settings = settings
        self.report_every_s = report_every_s
        self.on_step = on_step
        self.on_publish = on_publish
        self.times = TrainerTimes()
        self.last_losses: dict[str, float] = {}
        self._unwritten: list[StepReport] = []
        self._reported_at_s = time.monotonic()
        self._saved_at_s = time.monotonic()
        self._saved_step = trainer.step_count

    @property
    def step_count(self) -> int:
        return self.trainer.step_count

    def compile_ahead(self) -> None:
        """What steps will need, before the first game begins."""
        self.trainer.compile_ahead(self.replay.sampler.blank(self.settings.batch_size))

    def take_in(self, episodes: Sequence[bytes]) -> None:
        """Logs finished games."""
        if not episodes:
            return
        start = time.perf_counter()
        self.disk.write(lambda: self.replay.accept(episodes))
        self.times.intake_s += time.perf_counter() - start

    def may_play(self, timeout_s: float) -> bool:
        """Whether new moves may be made, after waiting for that at most so long. None are while
        the disk is full."""
        if self.disk.is_full:
            time.sleep(timeout_s)
            return False
        return self.replay.limiter.wait_to_play(timeout_s)

    def step(self, progress: float = 0.0) -> None:
        """One training step, of a run of which that share is done; then what is due after it."""
        start = time.perf_counter()
        batch_size = self.settings.batch_size
        self.trainer.step(self.replay.sampler.sample(batch_size), progress)
        self.replay.limiter.trained(batch_size)
        new_reports = [] if self.on_step is None else self._take_reports()
        self.times.training_s += time.perf_counter() - start
        if self.on_step is not None:
            for report in new_reports:
                self.on_step(report)
        if time.monotonic() - self._reported_at_s >= self.report_every_s:
            self.report()
        if self.step_count % self.settings.publish_every_steps == 0:
            weights = self.publish()
            if self.on_publish is not None:
                self.on_publish(self.step_count, weights)

    def report(self) -> None:
        """Writes the means of the steps since the last report down."""
        self._take_reports()
        reports, self._unwritten = self._unwritten, []
        if not reports:
            return
        self.last_losses = means_of(reports)
        values = self.last_losses | {"learning_rate": reports[-1].learning_rate}
        self.metrics.append("train", self.step_count, values)
        self._reported_at_s = time.monotonic()

    def _take_reports(self) -> list[StepReport]:
        """Those that are new; they are to be written with the next report."""
        new_reports = self.trainer.take_reports()
        self._unwritten += new_reports
        return new_reports

    def publish(self) -> dict[str, Tensor]:
        """Gives the exponential moving average to those who play; its version is the step."""
        weights = self.trainer.copy_ema()
        self.bus.publish_weights(self.step_count, weights)
        return weights

    def keep_weights(self) -> None:
        """Writes the exponential moving average into the run's folder; its version is the step."""
        self.weights.publish(self.trainer.weights())

    def checkpoint_is_due(self) -> bool:
        if self.step_count == self._saved_step:
            return False
        every_steps = self.settings.checkpoint_every_steps
        every_minutes = self.settings.checkpoint_every_minutes
        steps = self.step_count - self._saved_step
        minutes = (time.monotonic() - self._saved_at_s) / 60
        return (every_steps is not None and steps >= every_steps) or (
            every_minutes is not None and minutes >= every_minutes
        )

    def save(self, rest: dict[str, Any]) -> None:
        """Writes a checkpoint, and the weights that go with it. Games and weights that no
        checkpoint needs any more are let go, but not the first weights and rated ones; where the
        settings say so, no weights are."""
        self.disk.write(lambda: self._save(rest))
        oldest = self.checkpoints.oldest_rest()["replay"]["log"]
        self.replay.log.trim(LogPosition(**oldest))
        if not self.settings.keep_all_weights:
            self.weights.forget_all_but([0, *self.checkpoints.steps()])
        self._saved_step = self.step_count
        self._saved_at_s = time.monotonic()

    def _save(self, rest: dict[str, Any]) -> None:
        self.replay.log.sync()
        tensors, numbers = self.trainer.state()
        state = {"trainer": numbers, "replay": self.replay.state, **rest}
        self.keep_weights()
        self.checkpoints.save(Checkpoint(self.step_count, tensors, state))


def means_of(reports: Sequence[StepReport]) -> dict[str, float]:
    """Of what steps found, by name."""
    found = [report.values | {"grad_norm": report.grad_norm} for report in reports]
    return {name: sum(values[name] for values in found) / len(found) for name in found[0]}
