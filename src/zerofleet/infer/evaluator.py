"""The contract of evaluators, and the pipeline that keeps one busy.

An `Evaluator` computes one batch per call. A `Pipeline` has several batches in flight, one per
stream; on a CPU there is one stream, and `submit` computes the batch:

    pipeline.submit(slot, observations_BN)
    answered = pipeline.collect()

Batches come out in the order in which they went in, each computed by one version of the weights. A
pipeline belongs to one thread.

Shapes: B observations, N bytes of an observation, A actions, O outcomes.
"""

import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from zerofleet.errors import BadBytes, BadText, Inconsistent

Observations = NDArray[np.uint8]
Rows = NDArray[np.float32]
State = Mapping[str, Any] | bytes
"""Weights: by name, as torch tensors or numpy arrays; or all of them as safetensors."""
Shapes = dict[str, list[int]]
EvaluatorKind = Literal["auto", "torch", "onnx"]


class Evaluator(Protocol):
    """A network that evaluates positions; zf.search.analyse and zf.selfplay.play take one."""

    @property
    def version(self) -> int:
        """Of the weights in use."""

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        """Policy logits [B, A] and outcome probabilities [B, O], in the view of the observer.

        Takes uint8 [B, N]. Returns float32, contiguous, owned by the caller.
        """

    def load(self, state: State, version: int) -> None:
        """Replaces the weights between two batches.

        Weights that do not fit are refused by name, and the old ones stay in use.
        """


def checked_observations(observations_BN: Observations, num_bytes: int) -> Observations:
    """The same rows, or BadText unless they are uint8 [B, num_bytes]."""
    rows: object = observations_BN
    fits = (
        isinstance(rows, np.ndarray)
        and rows.dtype == np.uint8
        and rows.ndim == 2
        and rows.shape[1] == num_bytes
    )
    if not fits:
        got = f"{rows.dtype} {list(rows.shape)}" if isinstance(rows, np.ndarray) else type(rows)
        raise BadText(f"observations must be a numpy array uint8 [batch, {num_bytes}], got {got}")
    return observations_BN


def checked_state(
    state: State, shapes: Shapes, version: int, serving: int | None = None
) -> Mapping[str, Any]:
    """Weights by name, with exactly these shapes.

    The error names the tensor that does not fit, the refused version, and the one that stays in
    use, if any.
    """

    def refused(why: str) -> str:
        still = "" if serving is None else f"; still serving {serving}"
        return f"weights {version} refused: {why}{still}"

    if isinstance(state, bytes):
        try:
            state = safetensors.numpy.load(state)
        except SafetensorError as error:
            raise BadBytes(refused(f"not safetensors ({error})")) from None
    for name in sorted(shapes.keys() | state.keys()):
        if name not in state:
            raise Inconsistent(refused(f"{name} is missing"))
        if name not in shapes:
            raise Inconsistent(refused(f"{name} is not of this network"))
        if (shape := list(state[name].shape)) != shapes[name]:
            raise Inconsistent(refused(f"{name} must be {shapes[name]}, got {shape}"))
    return state


class Finished(NamedTuple):
    """A batch that a stream has computed."""

    policy_logits_BA: Rows
    outcomes_BO: Rows
    num_computed: int
    """Rows with padding."""
    begin_s: float
    end_s: float
    """On the clock of the device."""
    version: int
    """Of the weights that computed it."""


class Stream(Protocol):
    """Computes one batch at a time."""

    def start(self, slot: int, *parts_BN: Observations) -> None:
        """Launches a batch: the rows of all parts, in order. They are read before it returns."""

    def wait(self, timeout_s: float) -> bool:
        """Whether the batch is finished, or will be within the time of a computation; waits for
        others, such as a server, at most so long."""

    def finish(self) -> Finished:
        """Waits for the batch. Its arrays stay valid until the slot starts again."""


class Answered(NamedTuple):
    slot: int
    policy_logits_BA: Rows
    outcomes_BO: Rows
    version: int
    """Of the weights that computed it."""


@dataclass
class BatchCounts:
    """Throughput of a pipeline, and how well it used the device."""

    num_batches: int = 0
    num_rows: int = 0
    num_computed: int = 0
    """Rows with padding: num_rows / num_computed is the batch fill."""
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
        self._in_flight: deque[tuple[Stream, int]] = deque()
        self._last_end_s = float("-inf")

    @property
    def version(self) -> int:
        """Of the weights that will compute the next submitted batch."""
        return self._evaluator.version

    @property
    def num_in_flight(self) -> int:
        return len(self._in_flight)

    @property
    def has_room(self) -> bool:
        return bool(self._idle)

    def load(self, state: State, version: int) -> None:
        """Replaces the weights for batches submitted from now on."""
        self._evaluator.load(state, version)

    def submit(self, slot: int, *parts_BN: Observations) -> None:
        """Launches a batch, the rows of all parts in order; they are read before this returns.

        The answer of a slot stays valid until the slot is submitted again.
        """
        if not self.has_room:
            raise Inconsistent(
                f"a pipeline with {self.num_in_flight} batches in flight has no room for another; "
                "collect one first"
            )
        stream = self._idle.popleft()
        stream.start(slot, *parts_BN)
        self._in_flight.append((stream, slot))

    def wait(self, timeout_s: float) -> bool:
        """Whether `collect` will return soon: see Stream.wait. Needs a batch in flight."""
        stream, _ = self._in_flight[0]
        return stream.wait(timeout_s)

    def collect(self) -> Answered:
        """Waits for the oldest batch in flight."""
        if not self._in_flight:
            raise Inconsistent("a pipeline with nothing in flight has nothing to collect")
        stream, slot = self._in_flight.popleft()
        finished = stream.finish()
        self._idle.append(stream)
        self._count(finished)
        return Answered(slot, finished.policy_logits_BA, finished.outcomes_BO, finished.version)

    def _count(self, finished: Finished) -> None:
        counts, before_s = self.counts, self._last_end_s
        counts.num_batches += 1
        counts.num_rows += len(finished.outcomes_BO)
        counts.num_computed += finished.num_computed
        counts.busy_s += max(0.0, finished.end_s - max(finished.begin_s, before_s))
        counts.queued_s += max(0.0, min(before_s, finished.end_s) - finished.begin_s)
        self._last_end_s = max(before_s, finished.end_s)


class CallingStream:
    """Calls an evaluator in the thread of the caller."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def start(self, slot: int, *parts_BN: Observations) -> None:
        begin_s = time.perf_counter()
        observations_BN = parts_BN[0] if len(parts_BN) == 1 else np.concatenate(parts_BN)
        version = self._evaluator.version
        logits_BA, outcomes_BO = self._evaluator(observations_BN)
        self._finished = Finished(
            logits_BA, outcomes_BO, len(observations_BN), begin_s, time.perf_counter(), version
        )

    def wait(self, timeout_s: float) -> bool:
        return True

    def finish(self) -> Finished:
        return self._finished


def lockstep(evaluator: Evaluator) -> Pipeline:
    """A pipeline of one stream: `submit` computes the batch."""
    return Pipeline(evaluator, [CallingStream(evaluator)])
