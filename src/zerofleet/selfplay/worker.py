"""The worker role: plays games with the published weights and sends them to the trainer."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerofleet import _core
from zerofleet.bus import Bus, Delivery
from zerofleet.infer import Pipeline
from zerofleet.infer.evaluator import Observations
from zerofleet.selfplay.play import PATIENCE_S
from zerofleet.weights import Tensors, checked_tensors

POLL_WEIGHTS_S = 0.05

OnFault = Callable[[BaseException], None]
"""Called in the thread that fails; the role ends."""


@dataclass
class WorkerTimes:
    """Seconds of the thread that moves batches, by what it did. Search has threads of its own."""

    inference_s: float = 0.0
    waiting_for_search_s: float = 0.0
    """With no batch in flight: the evaluator had nothing to do."""
    waiting_for_trainer_s: float = 0.0
    num_inferences: int = 0


class WeightsFeed:
    """Fetches and checks published weights in a thread of its own: no worker waits for it."""

    def __init__(self, bus: Bus, version: int, on_fault: OnFault) -> None:
        self._bus = bus
        self._on_fault = on_fault
        self._newest: tuple[int, Tensors] = (version, {})
        self._thread = threading.Thread(target=self._run, name="weights", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def other_than(self, version: int) -> tuple[int, Tensors] | None:
        """The newest version and its tensors, unless it is this one."""
        newest = self._newest
        return None if newest[0] == version or not newest[1] else newest

    def _run(self) -> None:
        try:
            while not self._bus.stopping:
                if (published := self._bus.other_weights(self._newest[0])) is not None:
                    name = f"weights {published.version}"
                    tensors = checked_tensors(published.data, published.sha256, name)
                    self._newest = (published.version, tensors)
                time.sleep(POLL_WEIGHTS_S)
        except BaseException as fault:
            self._on_fault(fault)


class Worker:
    """Moves batches between the driver's search threads and the pipeline until the bus stops.

    Groups are the slots of the pipeline, which is kept full as long as there are batches. Before
    each batch the worker asks the bus whether it may play: while it may not, no new move is made,
    and finished games are still sent.
    """

    def __init__(
        self,
        worker_id: int,
        driver: _core.SelfPlay,
        pipeline: Pipeline,
        bus: Bus,
        feed: WeightsFeed,
        on_fault: OnFault,
    ) -> None:
        self.id = worker_id
        self.driver = driver
        self.pipeline = pipeline
        self.times = WorkerTimes()
        self._bus = bus
        self._feed = feed
        self._on_fault = on_fault
        self._num_sent = 0
        self._thread = threading.Thread(target=self._run_guarded, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def counts(self) -> _core.SelfPlayCounts:
        return self.driver.counts()

    def _run_guarded(self) -> None:
        try:
            while not self._bus.stopping:
                self._load_weights()
                self._move_batches()
                self._send_episodes()
        except BaseException as fault:
            self._on_fault(fault)
        finally:
            self.driver.stop()

    def _load_weights(self) -> None:
        if (newer := self._feed.other_than(self.pipeline.version)) is not None:
            version, tensors = newer
            self.pipeline.load(tensors, version)

    def _move_batches(self) -> None:
        """Submits the next batch, if there is one; collects the oldest, if it is time for that."""
        batch = self._next_batch()
        if batch is not None:
            self._submit(*batch)
        if batch is None or not self.pipeline.has_room:
            self._collect_oldest()

    def _send_episodes(self) -> None:
        if episodes := self.driver.take_episodes():
            first = self._num_sent
            self._num_sent += len(episodes)
            self._bus.send_episodes(
                [Delivery(self.id, first + i, data) for i, data in enumerate(episodes)]
            )

    def _next_batch(self) -> tuple[int, Observations] | None:
        """Waits for one only where nothing is in flight that could be collected instead."""
        patience_s = 0.0 if self.pipeline.num_in_flight else PATIENCE_S
        start = time.perf_counter()
        allowed = self._bus.wait_to_play(patience_s)
        asked = time.perf_counter()
        self.times.waiting_for_trainer_s += asked - start
        if not allowed:
            return None
        batch = self.driver.next_batch(patience_s)
        self.times.waiting_for_search_s += time.perf_counter() - asked
        return batch

    def _submit(self, group: int, observations: Observations) -> None:
        start = time.perf_counter()
        self.pipeline.submit(group, observations)
        self.times.inference_s += time.perf_counter() - start

    def _collect_oldest(self) -> None:
        if not self.pipeline.num_in_flight:
            return
        start = time.perf_counter()
        group, policy_logits, outcomes, version = self.pipeline.collect()
        self.driver.submit(group, policy_logits, outcomes, version)
        self.times.inference_s += time.perf_counter() - start
        self.times.num_inferences += len(outcomes)
