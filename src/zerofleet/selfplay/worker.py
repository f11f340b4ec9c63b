"""The worker role: plays games with the published weights and sends them to the trainer."""

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from zerofleet import _core
from zerofleet.bus import Bus
from zerofleet.infer import Pipeline
from zerofleet.infer.evaluator import Observations
from zerofleet.selfplay.opponent import Opponent
from zerofleet.selfplay.outbox import Outbox
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
    """Fetches and checks published weights in a background thread: no worker waits for it.

    Bad weights are a fault of the program and end the run; see fleet_feed.py for a fleet.
    """

    def __init__(
        self, bus: Bus, version: int, is_stopping: Callable[[], bool], on_fault: OnFault
    ) -> None:
        """`version` is what the workers begin with."""
        self._bus = bus
        self._is_stopping = is_stopping
        self._on_fault = on_fault
        self._newest: tuple[int, Tensors] = (version, {})
        self._thread = threading.Thread(target=self._run, name="weights", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def load_newest(self, pipeline: Pipeline) -> None:
        """Gives a pipeline the newest weights, unless it has them."""
        version, tensors = self._newest
        if tensors and version != pipeline.version:
            pipeline.load(tensors, version)

    @property
    def why_paused(self) -> str:
        """Why workers must not play with what they have, in a few words; empty where they may."""
        return ""

    @property
    def sha256(self) -> str:
        """Of the weights that were loaded last; empty where they are not hashed."""
        return ""

    def wait_until_fresh(self, timeout_s: float) -> bool:
        """Whether the loaded weights may play; waits until they may, up to the timeout."""
        return True

    def _run(self) -> None:
        try:
            while not self._is_stopping():
                self._fetch()
        except BaseException as fault:
            self._on_fault(fault)

    def _fetch(self) -> None:
        """Fetches weights, if there are new ones, and waits for news."""
        if (published := self._bus.other_weights(self._newest[0])) is not None:
            name = f"weights {published.version}"
            tensors = checked_tensors(published.data, published.sha256, name)
            self._newest = (published.version, tensors)
        self._bus.wait_for_news(POLL_WEIGHTS_S)


class Worker:
    """Moves batches between the driver's search threads and the pipeline until it is stopped.

    Groups are the slots of the pipeline, which is kept full as long as there are batches. An
    opponent's batches go through a pipeline of its own; all are collected in the order of
    submission. Before each batch the worker asks feed and outbox whether it may play: while it may
    not, no new move is made, and finished games are still sent.
    """

    def __init__(
        self,
        driver: _core.SelfPlay,
        pipeline: Pipeline,
        outbox: Outbox,
        feed: WeightsFeed,
        is_stopping: Callable[[], bool],
        on_fault: OnFault,
        opponent: Opponent | None = None,
    ) -> None:
        """A driver whose games have an opponent needs one."""
        self.driver = driver
        self.pipeline = pipeline
        self.times = WorkerTimes()
        self._opponent = opponent
        self._in_flight: deque[Pipeline] = deque()
        """Of each batch in flight, in the order of submission."""
        self._outbox = outbox
        self._feed = feed
        self._is_stopping = is_stopping
        self._on_fault = on_fault
        self._thread = threading.Thread(target=self._run_guarded, name="worker", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def counts(self) -> _core.SelfPlayCounts:
        return self.driver.counts()

    @property
    def doing(self) -> str:
        """What it does or waits for, in a few words."""
        return self._feed.why_paused or self._outbox.why_paused or "plays"

    def _run_guarded(self) -> None:
        try:
            while not self._is_stopping():
                self._feed.load_newest(self.pipeline)
                if self._opponent is not None:
                    self._opponent.follow(self.pipeline.version)
                self._move_batches()
                self._send_episodes()
            self.driver.stop()
            self._send_episodes()  # what was finished since
        except BaseException as fault:
            self._on_fault(fault)
        finally:
            self.driver.stop()

    def _move_batches(self) -> None:
        """Submits the next batch, if there is one; collects the oldest, if it is time for that."""
        batch = self._next_batch()
        if batch is not None:
            self._submit(*batch)
        if batch is None or not self.pipeline.has_room:
            self._collect_oldest()

    def _send_episodes(self) -> None:
        if episodes := self.driver.take_episodes():
            self._outbox.send(episodes)

    def _next_batch(self) -> tuple[int, Observations] | None:
        """Waits for one only where nothing is in flight that could be collected instead."""
        patience_s = 0.0 if self._in_flight else PATIENCE_S
        start = time.perf_counter()
        allowed = self._feed.wait_until_fresh(patience_s) and self._outbox.wait_to_play(patience_s)
        asked = time.perf_counter()
        self.times.waiting_for_trainer_s += asked - start
        if not allowed:
            return None
        batch = self.driver.next_batch(patience_s)
        self.times.waiting_for_search_s += time.perf_counter() - asked
        return batch

    def _submit(self, group: int, observations: Observations) -> None:
        pipeline = self.pipeline
        if self._opponent is not None and self.driver.for_opponent(group):
            pipeline = self._opponent.pipeline
        while not pipeline.has_room:  # the other one had the last batches
            self._collect_oldest()
        start = time.perf_counter()
        pipeline.submit(group, observations)
        self._in_flight.append(pipeline)
        self.times.inference_s += time.perf_counter() - start

    def _collect_oldest(self) -> None:
        if not self._in_flight:
            return
        start = time.perf_counter()
        oldest = self._in_flight[0]
        if oldest.wait(PATIENCE_S):
            group, policy_logits, outcomes, version = oldest.collect()
            self._in_flight.popleft()
            self.driver.submit(group, policy_logits, outcomes, version)
            self.times.num_inferences += len(outcomes)
        self.times.inference_s += time.perf_counter() - start
