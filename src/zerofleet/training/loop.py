"""The trainer role: logs episodes, trains, publishes weights, writes checkpoints."""

import random
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field

from torch import Tensor

from zerofleet.bus import Bus, BusFull, BusUnreachable, Delivery, Pace, Sender
from zerofleet.config import TrainConfig
from zerofleet.metrics import MetricsLog
from zerofleet.replay import Intake, LogPosition, Replay
from zerofleet.storage import Disk
from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.trainer import StepReport, Trainer
from zerofleet.weights import WeightsStore, encoded_tensors

REPORT_INTERVAL_S = 5.0
"""How often the means of the last steps are written as metrics."""
DELIVERIES_PER_FSYNC = 4096
"""Deliveries that are logged together, with one fsync."""
POLL_EPISODES_S = 0.01
POLL_REQUESTS_S = 1.0
RETRY_BUS_S = 1.0
"""Mean wait before a bus that failed is tried again."""
THROUGHPUT_WINDOW_S = 5.0
MAX_AHEAD_SHARE = 0.25
"""Of the replay buffer, that self-play in flight may be ahead. With half a buffer that the limiter
allows it stays below a whole one, beyond which rows leave unsampled and no ratio holds."""


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


class RowThroughput:
    """Rows/s over the last seconds, from totals that are reported now and then."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._totals: deque[tuple[float, int]] = deque()

    def update(self, num_rows: int) -> float:
        """Notes a total, and returns the rows/s since the oldest within the window."""
        now_s = self._clock()
        while self._totals and now_s - self._totals[0][0] > THROUGHPUT_WINDOW_S:
            self._totals.popleft()
        self._totals.append((now_s, num_rows))
        first_s, first_rows = self._totals[0]
        return (num_rows - first_rows) / (now_s - first_s) if now_s > first_s else 0.0


@dataclass(kw_only=True)
class TrainingLoop:
    """The trainer of a run and what it keeps up to date: replay, weights, checkpoints, metrics."""

    trainer: Trainer
    replay: Replay
    intake: Intake
    checkpoints: CheckpointStore
    weights: WeightsStore
    bus: Bus
    metrics: MetricsLog
    disk: Disk
    settings: TrainConfig
    counters: RunCounters
    publisher: "WeightsPublisher | None" = None
    """Gives published weights to workers; None where no worker reads them from the bus."""
    paused: str = ""
    """Why play is paused; empty while it is not."""
    pace_slack_s: float = 0.0
    """Seconds of self-play that may be in flight beyond what the rate limiter allows."""
    report_interval_s: float = REPORT_INTERVAL_S
    on_step: Callable[[StepReport], None] | None = None
    """Gets the report of each step, and so waits for it."""
    on_publish: Callable[[int, dict[str, Tensor]], None] | None = None
    """Gets version and weights of each publication after a step."""
    on_save: Callable[[], None] | None = None
    """Called after each checkpoint, before anything else is written."""
    rows_ahead: int = 0
    """What that slack is in rows, at the present throughput of self-play."""
    times: TrainerTimes = field(default_factory=TrainerTimes)
    last_losses: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.disk.on_full = self.set_pace
        self._unwritten: list[StepReport] = []
        self._reported_at_s = time.monotonic()
        self._saved_at_s = time.monotonic()
        self._saved_step = self.trainer.step_count
        self._met: set[Sender] = set()
        """Senders whose marks were compared with the log."""
        self._throughput = RowThroughput()
        self._pace_lock = threading.Lock()

    @property
    def step_count(self) -> int:
        return self.trainer.step_count

    def compile_ahead(self) -> None:
        """Compiles what steps need, before the first game begins."""
        self.trainer.compile_ahead(self.replay.sampler.blank(self.settings.batch_size))

    def take_in(self, deliveries: Sequence[Delivery]) -> None:
        """Logs finished games, confirms them to their senders, and sets the pace.

        After a failure it may be called again with the same deliveries: each counts once.
        """
        for first in range(0, len(deliveries), DELIVERIES_PER_FSYNC):
            some = deliveries[first : first + DELIVERIES_PER_FSYNC]
            senders = {each.sender for each in some}
            start = time.perf_counter()
            self._compare_marks(senders)
            self.intake.take(some)
            self.times.intake_s += time.perf_counter() - start
            self.bus.set_marks(self.replay.log.marks(senders))
            self.bus.acknowledge(some)
            self.set_pace()
        if not deliveries:
            self.set_pace()

    def take_requests(self) -> None:
        """Logs what was cleared from the queue, and takes withdrawn games out of training."""
        self._log_cleared()
        if withdrawn := self.bus.take_withdrawals():
            self.intake.withdraw(withdrawn)

    def _log_cleared(self) -> None:
        if cleared := self.bus.take_cleared():
            self.intake.clear(cleared)
            self.bus.set_marks(self.replay.log.marks({sender for sender, _ in cleared}))

    def publish_marks(self) -> None:
        """Publishes what the log has to all senders, before anything else."""
        self._compare_marks(self.replay.log.marks())
        self.bus.set_marks(self.replay.log.marks())

    def _compare_marks(self, senders: Collection[Sender]) -> None:
        """Reports games that were confirmed once and that a restored log lacks."""
        if new := set(senders) - self._met:
            marks = {sender: self.bus.mark(sender) for sender in new}
            self._log_cleared()  # which is marked too, and not lost
            self.disk.write(lambda: self.intake.count_lost(marks))
            self._met |= new

    def log_episodes(self, episodes: Sequence[bytes]) -> None:
        """Puts finished games into the log and the replay buffer."""
        start = time.perf_counter()
        self.disk.write(lambda: self.replay.accept(episodes))
        self.times.intake_s += time.perf_counter() - start

    def set_pace(self) -> None:
        """Sets how far self-play may run ahead. Play pauses while the disk is full."""
        limiter = self.replay.limiter
        paused = "the disk is full" if self.disk.is_full else self.paused
        with self._pace_lock:
            num_rows = limiter.state.num_rows
            rows_ahead = self._throughput.update(num_rows) * self.pace_slack_s
            most = MAX_AHEAD_SHARE * self.replay.buffer.capacity
            self.rows_ahead = round(min(rows_ahead, most))
            self.bus.set_pace(Pace(num_rows, limiter.rows_allowed + self.rows_ahead, paused))

    def wait_to_train(self, timeout_s: float) -> bool:
        """Whether a batch may be trained; waits for games, up to the timeout."""
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
        """Publishes the EMA for self-play. Its version is the step, or higher if the run lost steps
        in a crash after later versions had played: no version is used twice."""
        weights = self.trainer.copy_ema()
        if self.publisher is not None:
            at_least = max(self.step_count, self.replay.log.newest_version + 1)
            self.publisher.publish(self.step_count, weights, at_least)
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
        if self.on_save is not None:
            self.disk.write(self.on_save)

    def _save(self) -> None:
        self.replay.log.sync()
        tensors, numbers = self.trainer.state()
        state = {"trainer": numbers, "replay": self.replay.state, **asdict(self.counters)}
        self.checkpoints.save(Checkpoint(self.step_count, tensors, state))
        self.keep_weights()  # not before: trained weights without a checkpoint cannot be resumed


class IntakeThread:
    """Takes games in concurrently with training steps, so that no step delays them.

    While the bus cannot be reached it waits and tries again. `on_fault` is called in the thread if
    it fails for another reason, such as a trainer that was replaced.
    """

    def __init__(
        self,
        loop: TrainingLoop,
        on_fault: Callable[[BaseException], None],
        introduce: Callable[[], None],
    ) -> None:
        """`introduce` tells the roles what they must know of the run, unless it has done so."""
        self._loop = loop
        self._on_fault = on_fault
        self._introduce = introduce
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run_guarded, name="intake", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Ends after the games of the current call."""
        self._ending.set()
        self._thread.join()

    def _run_guarded(self) -> None:
        try:
            self._run()
        except BaseException as fault:
            self._on_fault(fault)

    def _run(self) -> None:
        loop = self._loop
        received: list[Delivery] = []
        requests_at_s = time.monotonic()
        while not self._ending.is_set():
            try:
                received = received or loop.bus.receive_episodes()
                loop.take_in(received)
                was_idle, received = not received, []
                self._introduce()  # after games, which free a full bus
                if time.monotonic() >= requests_at_s:
                    loop.take_requests()
                    requests_at_s = time.monotonic() + POLL_REQUESTS_S
            except (BusUnreachable, BusFull):
                self._ending.wait(random.uniform(0.5, 1.5) * RETRY_BUS_S)
                continue
            if was_idle:
                self._ending.wait(POLL_EPISODES_S)


class WeightsPublisher:
    """Serialises and publishes weights in a background thread: the trainer does not wait for it.

    Of several versions that wait, only the newest is published. One that the bus cannot take is
    tried again. The thread ends when nothing waits.
    `upload(sha256, data)`, if given, comes before each publication, and may raise ConnectionError.
    `on_fault` is called in that thread if it fails.
    """

    def __init__(
        self,
        bus: Bus,
        on_fault: Callable[[BaseException], None],
        upload: Callable[[str, bytes], None] | None = None,
    ) -> None:
        self._bus = bus
        self._on_fault = on_fault
        self._upload = upload
        self._lock = threading.Lock()
        self._waiting: tuple[int, dict[str, Tensor], int] | None = None
        self._is_running = False

    def publish(self, step: int, tensors: dict[str, Tensor], at_least: int) -> None:
        """Publishes the weights of a step as `at_least` that version."""
        with self._lock:
            self._waiting = (step, tensors, at_least)
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
                (step, tensors, at_least), self._waiting = self._waiting, None
            arrays = {name: tensor.cpu().numpy() for name, tensor in tensors.items()}
            data, sha256 = encoded_tensors(arrays)
            if not self._sent(step, sha256, data, at_least):
                with self._lock:
                    self._waiting = self._waiting or (step, tensors, at_least)
                time.sleep(RETRY_BUS_S)

    def _sent(self, step: int, sha256: str, data: bytes, at_least: int) -> bool:
        """Whether the weights were taken; False where they may be later."""
        if self._upload is not None:
            try:
                self._upload(sha256, data)
            except ConnectionError:
                return False
        try:
            self._bus.publish_weights(step, sha256, data, at_least)
        except (BusUnreachable, BusFull):
            return False
        return True


def means_of(reports: Sequence[StepReport]) -> dict[str, float]:
    """Of the values of steps, by name."""
    values = [report.values | {"grad_norm": report.grad_norm} for report in reports]
    return {name: sum(each[name] for each in values) / len(values) for name in values[0]}
