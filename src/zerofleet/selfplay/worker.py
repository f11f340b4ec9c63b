"""The worker role: plays games with the newest weights and sends them off."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerofleet import _core
from zerofleet.bus import MemoryBus
from zerofleet.infer import Pipeline
from zerofleet.infer.evaluator import Observations
from zerofleet.selfplay.play import PATIENCE_S


@dataclass
class WorkerTimes:
    """Seconds of the thread that moves batches, by what it did. Search has threads of its own."""

    inference_s: float = 0.0
    waiting_for_search_s: float = 0.0
    """With no batch in flight: the evaluator had nothing to do."""
    waiting_for_trainer_s: float = 0.0
    num_inferences: int = 0


class Worker:
    """Moves batches between the driver's threads and the pipeline until the bus stops.

    Groups are the slots of the pipeline, which is kept full as long as there are batches.
    `may_play` is asked before each batch: while it says no, no new move is made, and what is
    finished is still sent.
    """

    def __init__(
        self,
        driver: _core.SelfPlay,
        pipeline: Pipeline,
        bus: MemoryBus,
        may_play: Callable[[float], bool],
    ) -> None:
        self.driver = driver
        self.pipeline = pipeline
        self.bus = bus
        self.may_play = may_play
        self.times = WorkerTimes()
        self._thread = threading.Thread(target=self._run_guarded, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def counts(self) -> _core.SelfPlayCounts:
        return self.driver.counts()

    def _run_guarded(self) -> None:
        try:
            self._run()
        except BaseException as fault:
            self.bus.stop(fault)
        finally:
            self.driver.stop()

    def _run(self) -> None:
        while not self.bus.stopping:
            if newer := self.bus.newer_weights(self.pipeline.version):
                version, tensors = newer
                self.pipeline.load(tensors, version)
            batch = self._next_batch()
            if batch is not None:
                self._submit(*batch)
            if batch is None or not self.pipeline.has_room:
                self._answer_oldest()
            if episodes := self.driver.take_episodes():
                self.bus.send_episodes(episodes)

    def _next_batch(self) -> tuple[int, Observations] | None:
        """Waits for one only where nothing is in flight that could be answered instead."""
        patience_s = 0.0 if self.pipeline.num_in_flight else PATIENCE_S
        start = time.perf_counter()
        allowed = self.may_play(patience_s)
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

    def _answer_oldest(self) -> None:
        if not self.pipeline.num_in_flight:
            return
        start = time.perf_counter()
        group, policy_logits, outcomes, version = self.pipeline.collect()
        self.driver.submit(group, policy_logits, outcomes, version)
        self.times.inference_s += time.perf_counter() - start
        self.times.num_inferences += len(outcomes)
