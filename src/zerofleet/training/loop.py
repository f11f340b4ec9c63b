"""The trainer role: logs episodes, makes steps, publishes weights, writes checkpoints."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field

from torch import Tensor

from zerofleet.bus import Bus, Delivery, Pace, PublishedWeights
from zerofleet.config import TrainConfig
from zerofleet.metrics import MetricsLog
from zerofleet.replay import LogPosition, Replay
from zerofleet.storage import Disk
from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.trainer import StepReport, Trainer
from zerofleet.weights import WeightsStore, encoded_tensors

REPORT_INTERVAL_S = 5.0
"""How often the means of the last steps are written as metrics."""


@dataclass
class TrainerTimes:
    """Seconds of the trainer's thread, by what it did."""

    training_s: float = 0.0
    intake_s: float = 0.0
    waiting_for_games_s: float = 0.0


@dataclass
class RunCounters:
    """What a run counts over all its starts, beside what trainer and replay count."""

    num_starts: int = 0
    num_rounds: int = 0
    """Rounds of self-play, where a deterministic run alternates them with training."""


@dataclass(kw_only=True)
class TrainingLoop:
    """The trainer of a run and what it keeps up to date: replay, weights, checkpoints, metrics."""

    trainer: Trainer
    replay: Replay
    checkpoints: CheckpointStore
    weights: WeightsStore
    bus: Bus
    metrics: MetricsLog
    disk: Disk
    settings: TrainConfig
    counters: RunCounters
    publisher: "WeightsPublisher | None" = None
    """Gives published weights to workers; None where nobody receives them from the bus."""
    report_interval_s: float = REPORT_INTERVAL_S
    on_step: Callable[[StepReport], None] | None = None
    """Gets the report of each step, and so waits for it."""
    on_publish: Callable[[int, dict[str, Tensor]], None] | None = None
    """Gets version and weights of each publication after a step."""
    times: TrainerTimes = field(default_factory=TrainerTimes)
    last_losses: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.disk.on_full = self.set_pace
        self._unwritten: list[StepReport] = []
        self._reported_at_s = time.monotonic()
        self._saved_at_s = time.monotonic()
        self._saved_step = self.trainer.step_count

    @property
    def step_count(self) -> int:
        return self.trainer.step_count

    def compile_ahead(self) -> None:
        """Compiles what steps need, before the first game begins."""
        self.trainer.compile_ahead(self.replay.sampler.blank(self.settings.batch_size))

    def take_in(self, deliveries: Sequence[Delivery]) -> None:
        """Logs finished games, confirms them to whoever sent them, and sets the pace."""
        if deliveries:
            self.log_episodes([each.episode for each in deliveries])
            self.bus.set_marks({each.sender: each.number + 1 for each in deliveries})
            self.bus.acknowledge(deliveries)
        self.set_pace()

    def log_episodes(self, episodes: Sequence[bytes]) -> None:
        """Puts finished games into the log and the replay buffer."""
        start = time.perf_counter()
        self.disk.write(lambda: self.replay.accept(episodes))
        self.times.intake_s += time.perf_counter() - start

    def set_pace(self) -> None:
        """Tells self-play how far it may run ahead. Nobody plays while the disk is full."""
        limiter = self.replay.limiter
        paused = "the disk is full" if self.disk.is_full else ""
        self.bus.set_pace(Pace(limiter.state.num_rows, limiter.rows_allowed, paused))

    def wait_to_train(self, timeout_s: float) -> bool:
        """Whether a batch may be trained; waits for games for that, at most so long."""
        start = time.perf_counter()
        may_train = self.replay.limiter.wait_to_train(self.settings.batch_size, timeout_s)
        if not may_train:
            self.times.waiting_for_games_s += time.perf_counter() - start
        return may_train

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
        if time.monotonic() - self._reported_at_s >= self.report_interval_s:
            self.report()
        if self.step_count % self.settings.publish_every_steps == 0:
            weights = self.publish()
            if self.on_publish is not None:
                self.on_publish(self.step_count, weights)

    def report(self) -> None:
        """Writes the means of the steps since the last report as metrics."""
        self._take_reports()
        reports, self._unwritten = self._unwritten, []
        if not reports:
            return
        self.last_losses = means_of(reports)
        values = self.last_losses | {"learning_rate": reports[-1].learning_rate}
        self.metrics.append("train", self.step_count, values)
        self._reported_at_s = time.monotonic()

    def _take_reports(self) -> list[StepReport]:
        """Those that are new; the next report writes them."""
        new_reports = self.trainer.take_reports()
        self._unwritten += new_reports
        return new_reports

    def publish(self) -> dict[str, Tensor]:
        """Publishes the EMA for self-play; its version is the step."""
        weights = self.trainer.copy_ema()
        if self.publisher is not None:
            self.publisher.publish(self.step_count, weights)
        return weights

    def keep_weights(self) -> None:
        """Writes the EMA into the run folder; its version is the step."""
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

    def save(self) -> None:
        """Writes a checkpoint and its weights. Games and weights that no checkpoint needs any more
        are removed, but neither the first weights nor rated ones; with keep_all_weights, none."""
        self.disk.write(self._save)
        oldest = self.checkpoints.oldest_rest()["replay"]["log"]
        self.replay.log.trim(LogPosition(**oldest))
        if not self.settings.keep_all_weights:
            self.weights.forget_all_but([0, *self.checkpoints.steps()])
        self._saved_step = self.step_count
        self._saved_at_s = time.monotonic()

    def _save(self) -> None:
        self.replay.log.sync()
        tensors, numbers = self.trainer.state()
        state = {"trainer": numbers, "replay": self.replay.state, **asdict(self.counters)}
        self.keep_weights()
        self.checkpoints.save(Checkpoint(self.step_count, tensors, state))


class WeightsPublisher:
    """Serialises and publishes weights in a thread of its own: the trainer does not wait for it.

    Of several versions that wait, only the newest is published. The thread ends when nothing waits.
    `on_fault` is called in that thread if it fails.
    """

    def __init__(self, bus: Bus, on_fault: Callable[[BaseException], None]) -> None:
        self._bus = bus
        self._on_fault = on_fault
        self._lock = threading.Lock()
        self._waiting: tuple[int, dict[str, Tensor]] | None = None
        self._is_running = False

    def publish(self, step: int, tensors: dict[str, Tensor]) -> None:
        with self._lock:
            self._waiting = (step, tensors)
            if not self._is_running:
                self._is_running = True
                threading.Thread(target=self._run_guarded, name="publisher", daemon=True).start()

    def _run_guarded(self) -> None:
        try:
            self._run()
        except BaseException as fault:
            self._on_fault(fault)

    def _run(self) -> None:
        while True:
            with self._lock:
                if self._waiting is None:
                    self._is_running = False
                    return
                (step, tensors), self._waiting = self._waiting, None
            arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
            data, sha256 = encoded_tensors(arrays)
            self._bus.publish_weights(PublishedWeights(step, step, sha256, data))


def means_of(reports: Sequence[StepReport]) -> dict[str, float]:
    """Of the values of steps, by name."""
    values = [report.values | {"grad_norm": report.grad_norm} for report in reports]
    return {name: sum(each[name] for each in values) / len(values) for name in values[0]}
