"""Runs batches on a CUDA GPU, each on a stream of its own: in, through a graph, and back.

A graph is one launch per batch instead of one per layer. It has a fixed batch size, so a batch is
filled up: to the size that most batches have, which may be compiled, or to a power of two below.
Each size is captured when it is first needed.

Shapes: B observations, N bytes of an observation, S size of a graph's batch, A actions, O outcomes.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from zerofleet.infer.evaluator import Observations, Rows
from zerofleet.infer.gpu_weights import GpuWeights
from zerofleet.infer.pipeline import Finished
from zerofleet.nets import NetworkSpec
from zerofleet.nets.cuda import CAPTURE_LOCK, blocking_event, capturing

LEAST_SIZE = 64
NUM_WARM_UPS = 3

Answer = Callable[[torch.Tensor], tuple[torch.Tensor, torch.Tensor]]
"""Policy logits and outcomes of observations."""


@dataclass(frozen=True)
class Captured:
    """A graph with its inputs and outputs on the GPU."""

    graph: torch.cuda.CUDAGraph
    observations_SN: Tensor
    answers: tuple[Tensor, Tensor]


class PinnedRows:
    """Room for a batch and its answers in memory that the GPU reads and writes by itself."""

    def __init__(self, num_rows: int, spec: NetworkSpec) -> None:
        self.observations = torch.zeros(
            num_rows, spec.observation_bytes, dtype=torch.uint8, pin_memory=True
        )
        self.answers = (
            torch.zeros(num_rows, spec.num_actions, pin_memory=True),
            torch.zeros(num_rows, spec.num_outcomes, pin_memory=True),
        )

    def arrays(self, num_rows: int) -> tuple[Rows, Rows]:
        logits, outcomes = self.answers
        return logits[:num_rows].numpy(), outcomes[:num_rows].numpy()


class GpuClock:
    """When events happened on the GPU, in seconds.

    Events tell times between one another in single precision, so the clock is to be moved on.
    """

    def __init__(self, device: torch.device) -> None:
        self._base = blocking_event(timed=True)
        self._base.record(torch.cuda.current_stream(device))
        self._base.synchronize()
        self._base_s = 0.0

    def time_s(self, event: torch.cuda.Event) -> float:
        return self._base_s + float(self._base.elapsed_time(event)) / 1000

    def move_to(self, event: torch.cuda.Event) -> None:
        self._base_s = self.time_s(event)
        self._base = event


class CudaStream:
    """One batch at a time; several streams share a GPU, the weights, and the rooms of the slots.

    Batches of `full_size` are answered by `answer_full`, all others by the weights as they are.
    """

    def __init__(
        self,
        weights: GpuWeights,
        slots: list[PinnedRows],
        clock: GpuClock,
        full_size: int,
        answer_full: Answer,
    ) -> None:
        # Ahead of a trainer on the same GPU, whose stream has priority 0.
        self.stream = torch.cuda.Stream(weights.device, priority=-1)  # type: ignore[no-untyped-call]
        self._weights = weights
        self._slots = slots
        self._clock = clock
        self._full_size = full_size
        self._answer_full = answer_full
        self._captured: dict[int, Captured] = {}
        weights.read_on(self.stream)

    def start(self, slot: int, observations_BN: Observations) -> None:
        num_rows, rows = len(observations_BN), self._slots[slot]
        size = self.size_for(num_rows)
        captured = self.captured(size)
        np.copyto(rows.observations.numpy()[:num_rows], observations_BN)
        begin, end = blocking_event(timed=True), blocking_event(timed=True)
        with self._weights.lock, torch.cuda.stream(self.stream):
            begin.record()
            captured.observations_SN[:num_rows].copy_(
                rows.observations[:num_rows], non_blocking=True
            )
            captured.graph.replay()
            for pinned, answer in zip(rows.answers, captured.answers, strict=True):
                pinned[:num_rows].copy_(answer[:num_rows], non_blocking=True)
            end.record()
        self._in_flight = (rows, num_rows, size, begin, end)

    def finish(self) -> Finished:
        rows, num_rows, size, begin, end = self._in_flight
        end.synchronize()
        begin_s, end_s = self._clock.time_s(begin), self._clock.time_s(end)
        self._clock.move_to(end)
        return Finished(*rows.arrays(num_rows), size, begin_s, end_s)

    def size_for(self, num_rows: int) -> int:
        power = max(LEAST_SIZE, 1 << (num_rows - 1).bit_length())
        return self._full_size if power >= self._full_size >= num_rows else power

    def captured(self, size: int) -> Captured:
        if size not in self._captured:
            self._captured[size] = self._capture(size)
        return self._captured[size]

    def _capture(self, size: int) -> Captured:
        answer = self._answer_full if size == self._full_size else self._weights
        device, num_bytes = self._weights.device, self._weights.spec.observation_bytes
        with CAPTURE_LOCK, self._weights.lock, torch.no_grad():
            observations_SN = torch.zeros(size, num_bytes, dtype=torch.uint8, device=device)
            self.stream.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(self.stream):
                for _ in range(NUM_WARM_UPS):  # what is allocated or chosen at first use is so then
                    answer(observations_SN)
            graph = torch.cuda.CUDAGraph()
            with capturing(graph, self.stream):
                answers = answer(observations_SN)
        return Captured(graph, observations_SN, answers)
