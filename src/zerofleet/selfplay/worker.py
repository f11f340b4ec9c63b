"""The worker role: plays games with the newest weights and sends them off."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from zerofleet import _core
from zerofleet.bus import MemoryBus
from zerofleet.infer import Evaluator
from zerofleet.selfplay.play import PATIENCE_S


@dataclass
class WorkerTimes:
    """Seconds of the thread that moves batches, by what it did. Search has threads of its own."""

    inference_s: float = 0.0
    waiting_for_search_s: float = 0.0
    waiting_for_trainer_s: float = 0.0
    num_inferences: int = 0


class Worker:
    """Moves batches between the driver's threads and the evaluator until the bus stops.

    `may_play` is asked before each batch: while it says no, no new move is made, and what is
    finished is still sent.
    """

    def __init__(
        self,
        driver: _core.SelfPlay,
        evaluator: Evaluator,
        bus: MemoryBus,
        may_play: Callable[[float], bool],
    ) -> None:
        self.driver = driver
        self.evaluator = evaluator
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
            if newer := self.bus.newer_weights(self.evaluator.version):
                version, tensors = newer
                self.evaluator.load(tensors, version)
            start = time.perf_counter()
            allowed = self.may_play(PATIENCE_S)
            self.times.waiting_for_trainer_s += time.perf_counter() - start
            if allowed:
                self._move_one_batch()
            if episodes := self.driver.take_episodes():
                self.bus.send_episodes(episodes)

    def _move_one_batch(self) -> None:
        start = time.perf_counter()
        batch = self.driver.next_batch(PATIENCE_S)
        found = time.perf_counter()
        self.times.waiting_for_search_s += found - start
        if batch is None:
            return
        group, observations = batch
        policy_logits, outcomes = self.evaluator(observations)
        self.driver.submit(group, policy_logits, outcomes, self.evaluator.version)
        self.times.inference_s += time.perf_counter() - found
        self.times.num_inferences += len(observations)
