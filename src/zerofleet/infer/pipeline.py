"""Keeps an evaluator busy: the next batches are in flight while one is answered.

    pipeline.submit(slot, observations_BN)
    answered = pipeline.collect()

Answers come out in the order in which their batches went in, each whole by one version of the
weights. A pipeline belongs to one thread.

Shapes: B observations, N bytes of an observation, A actions, O outcomes.
"""

import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from zerofleet.errors import Inconsistent
from zerofleet.infer.evaluator import Evaluator, Observations, Rows, State


class Finished(NamedTuple):
    """A batch that a stream is through with."""

    policy_logits_BA: Rows
    outcomes_BO: Rows
    num_computed: int
    """Rows that were computed, with those that filled the batch up."""
    begin_s: float
    end_s: float
    """On the clock of the device."""


class Stream(Protocol):
    """Takes one batch at a time."""

    def start(self, slot: int, observations_BN: Observations) -> None:
        """Begins to answer. The observations are read before it returns."""

    def finish(self) -> Finished:
        """Waits for the answers. They stay as they are until that slot is started again."""


class Answered(NamedTuple):
    slot: int
    policy_logits_BA: Rows
    outcomes_BO: Rows
    version: int
    """Of the weights that answered."""


@dataclass
class BatchCounts:
    """What went through a pipeline, and how well it used the device."""

    num_batches: int = 0
    num_rows: int = 0
    num_computed: int = 0
    """Rows with those that filled batches up: num_rows / num_computed is the batch fill."""
    busy_s: float = 0.0
    """Time in which the device had a batch to compute."""
    queued_s: float = 0.0
    """Sum over batches of the time on the device behind the batch before."""


class Pipeline:
    """As many batches in flight as there are streams."""

    def __init__(self, evaluator: Evaluator, streams: Sequence[Stream]) -> None:
        self.counts = BatchCounts()
        self._evaluator = evaluator
        self._idle = deque(streams)
        self._in_flight: deque[tuple[Stream, int, int]] = deque()
        self._last_end_s = float("-inf")

    @property
    def version(self) -> int:
        """Of the weights that answer what is submitted next."""
        return self._evaluator.version

    @property
    def num_in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def has_room(self) -> bool:
        return bool(self._idle)

    def load(self, state: State, version: int) -> None:
        """Other weights, for batches that are submitted from now on."""
        self._evaluator.load(state, version)

    def submit(self, slot: int, observations_BN: Observations) -> None:
        """Begins to answer a batch; the observations are read before this returns.

        The answers of a slot stay as they are until the next batch of that slot is submitted.
        """
        if not self.has_room:
            raise Inconsistent(
                f"a pipeline with {self.num_in_flight} batches in flight has no room for another; "
                "collect one first"
            )
        stream = self._idle.popleft()
        stream.start(slot, observations_BN)
        self._in_flight.append((stream, slot, self.version))

    def collect(self) -> Answered:
        """Waits for the oldest batch that is in flight."""
        if not self._in_flight:
            raise Inconsistent("a pipeline with nothing in flight has nothing to collect")
        stream, slot, version = self._in_flight.popleft()
        finished = stream.finish()
        self._idle.append(stream)
        self._count(finished)
        return Answered(slot, finished.policy_logits_BA, finished.outcomes_BO, version)

    def _count(self, finished: Finished) -> None:
        counts, before_s = self.counts, self._last_end_s
        counts.num_batches += 1
        counts.num_rows += len(finished.outcomes_BO)
        counts.num_computed += finished.num_computed
        counts.busy_s += max(0.0, finished.end_s - max(finished.begin_s, before_s))
        counts.queued_s += max(0.0, min(before_s, finished.end_s) - finished.begin_s)
        self._last_end_s = max(before_s, finished.end_s)


class CallingStream:
    """Asks an evaluator, at once and in the caller's thread."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def start(self, slot: int, observations_BN: Observations) -> None:
        begin_s = time.perf_counter()
        logits_BA, outcomes_BO = self._evaluator(observations_BN)
        self._finished = Finished(
            logits_BA, outcomes_BO, len(observations_BN), begin_s, time.perf_counter()
        )

    def finish(self) -> Finished:
        return self._finished


def lockstep(evaluator: Evaluator) -> Pipeline:
    """A pipeline of one stream: whoever submits a batch computes it."""
    return Pipeline(evaluator, [CallingStream(evaluator)])
