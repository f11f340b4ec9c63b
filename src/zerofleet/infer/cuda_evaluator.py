"""Evaluates on a CUDA GPU, in bfloat16, from CUDA graphs, with several batches in flight.

Each batch runs on a CUDA stream: copied in, through a graph, and copied back. A graph is one launch
per batch instead of one per layer. Its batch size is fixed, so batches are padded: to the size of
most batches, which may be compiled, or to a power of two below. A size is captured at first use.

Shapes: B observations, N bytes of an observation, S batch size of a graph, A actions, O outcomes.
"""

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from zerofleet.infer.evaluator import (
    Finished,
    Observations,
    Pipeline,
    Rows,
    State,
    checked_observations,
)
from zerofleet.infer.gpu_weights import GpuWeights
from zerofleet.infer.torch_evaluator import out_of_memory
from zerofleet.nets import Network, NetworkSpec
from zerofleet.nets.cuda import CAPTURE_LOCK, blocking_event, capturing, compiled, use_tf32

NUM_STREAMS = 3
"""One batch running, one queued behind it, one that the host is handing over."""
MIN_SIZE = 64
NUM_WARM_UPS = 3

Forward = Callable[[Tensor], tuple[Tensor, Tensor]]
"""Policy logits [S, A] and outcomes [S, O] of observations [S, N]."""


class CudaEvaluator:
    """Evaluates with a copy of a network's weights, which `load` replaces.

    A call computes one batch and waits for it. Its graphs are captured in a second: that of small
    batches at once, larger ones at first use. `pipeline` is for self-play: batches of one size,
    several in flight, compiled unless `compiles` is off.
    """

    def __init__(
        self,
        network: Network,
        device: torch.device,
        version: int = 0,
        compiles: bool = True,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        use_tf32()  # beside bfloat16, float32 needs no more than TF32 precision
        self.device = device
        self._compiles = compiles
        self._weights = GpuWeights(network, device, version, dtype)
        self._slots = [HostRows(MIN_SIZE, network.spec)]
        self._stream = CudaStream(
            self._weights, self._slots, GpuClock(device), MIN_SIZE, self._weights
        )
        self._stream.prepared(MIN_SIZE)
        self._calling = threading.Lock()

    @property
    def version(self) -> int:
        return self._weights.version

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        num_bytes = self._weights.spec.observation_bytes
        rows_BN = checked_observations(observations_BN, num_bytes)
        num_rows = len(rows_BN)
        try:
            with self._calling:
                if num_rows > len(self._slots[0].observations):
                    self._slots[0] = HostRows(self._stream.size_for(num_rows), self._weights.spec)
                self._stream.start(0, rows_BN)
                finished = self._stream.finish()
                return finished.policy_logits_BA.copy(), finished.outcomes_BO.copy()
        except torch.OutOfMemoryError as error:
            raise out_of_memory(self.device, num_rows) from error

    def load(self, state: State, version: int) -> None:
        self._weights.load(state, version)

    def pipeline(
        self,
        num_slots: int,
        rows_per_slot: int,
        num_streams: int = NUM_STREAMS,
        *,
        captures: bool = True,
        pins: bool = True,
    ) -> Pipeline:
        """For batches of at most `rows_per_slot`, most of them full.

        Ready when it returns, after half a minute if it has to compile. Without `captures` each
        kernel is launched by itself, without `pins` host memory is pageable: both are slower.
        """
        spec, clock = self._weights.spec, GpuClock(self.device)
        try:
            forward = compiled(self._weights.__call__) if self._compiles else self._weights
            slots = [HostRows(rows_per_slot, spec, pins) for _ in range(num_slots)]
            streams = [
                CudaStream(self._weights, slots, clock, rows_per_slot, forward, captures)
                for _ in range(num_streams)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # about kernels that the compiler did not try
                for stream in streams:
                    stream.prepared(rows_per_slot)
        except torch.OutOfMemoryError as error:
            raise out_of_memory(self.device, rows_per_slot) from error
        return Pipeline(self, streams)


class HostRows:
    """Host memory for one batch and its outputs, pinned unless `pins` is off."""

    def __init__(self, num_rows: int, spec: NetworkSpec, pins: bool = True) -> None:
        self.observations = torch.zeros(
            num_rows, spec.observation_bytes, dtype=torch.uint8, pin_memory=pins
        )
        self.outputs = (
            torch.zeros(num_rows, spec.num_actions, pin_memory=pins),
            torch.zeros(num_rows, spec.num_outcomes, pin_memory=pins),
        )

    def arrays(self, num_rows: int) -> tuple[Rows, Rows]:
        logits, outcomes = self.outputs
        return logits[:num_rows].numpy(), outcomes[:num_rows].numpy()


class GpuClock:
    """When events happened on the GPU, in seconds.

    Events measure the time between them in single precision, so the base moves along.
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


@dataclass(frozen=True)
class Captured:
    """A graph with its inputs and outputs on the GPU."""

    graph: torch.cuda.CUDAGraph
    observations_SN: Tensor
    outputs: tuple[Tensor, Tensor]

    def launch(self) -> tuple[Tensor, Tensor]:
        """The outputs, on the current stream; the next launch overwrites them."""
        self.graph.replay()
        return self.outputs


@dataclass(frozen=True)
class Eager:
    """The same without a graph: one launch per kernel."""

    forward: Forward
    observations_SN: Tensor

    @torch.no_grad()
    def launch(self) -> tuple[Tensor, Tensor]:
        return self.forward(self.observations_SN)


class CudaStream:
    """One batch at a time; several streams share a GPU, the weights, and the slots' memory.

    `forward_full` computes batches of `full_size`, the plain weights all others; from graphs unless
    `captures` is off.
    """

    def __init__(
        self,
        weights: GpuWeights,
        slots: list[HostRows],
        clock: GpuClock,
        full_size: int,
        forward_full: Forward,
        captures: bool = True,
    ) -> None:
        # Ahead of a trainer on the same GPU, whose stream has priority 0.
        self.stream = torch.cuda.Stream(weights.device, priority=-1)  # type: ignore[no-untyped-call]
        self._weights = weights
        self._slots = slots
        self._clock = clock
        self._full_size = full_size
        self._forward_full = forward_full
        self._captures = captures
        self._prepared: dict[int, Captured | Eager] = {}
        weights.read_on(self.stream)

    def start(self, slot: int, *parts_BN: Observations) -> None:
        num_rows, rows = sum(map(len, parts_BN)), self._slots[slot]
        size = self.size_for(num_rows)
        prepared = self.prepared(size)
        np.concatenate(parts_BN, out=rows.observations.numpy()[:num_rows])
        begin, end = blocking_event(timed=True), blocking_event(timed=True)
        with self._weights.lock, torch.cuda.stream(self.stream):
            begin.record()
            prepared.observations_SN[:num_rows].copy_(
                rows.observations[:num_rows], non_blocking=True
            )
            for on_host, output in zip(rows.outputs, prepared.launch(), strict=True):
                on_host[:num_rows].copy_(output[:num_rows], non_blocking=True)
            end.record()
            version = self._weights.version
        self._in_flight = (rows, num_rows, size, begin, end, version)

    def wait(self, timeout_s: float) -> bool:
        return True

    def finish(self) -> Finished:
        rows, num_rows, size, begin, end, version = self._in_flight
        end.synchronize()
        begin_s, end_s = self._clock.time_s(begin), self._clock.time_s(end)
        self._clock.move_to(end)
        return Finished(*rows.arrays(num_rows), size, begin_s, end_s, version)

    def size_for(self, num_rows: int) -> int:
        power = max(MIN_SIZE, 1 << (num_rows - 1).bit_length())
        return self._full_size if power >= self._full_size >= num_rows else power

    def prepared(self, size: int) -> Captured | Eager:
        if size not in self._prepared:
            self._prepared[size] = self._prepare(size)
        return self._prepared[size]

    def _prepare(self, size: int) -> Captured | Eager:
        forward = self._forward_full if size == self._full_size else self._weights
        device, num_bytes = self._weights.device, self._weights.spec.observation_bytes
        with CAPTURE_LOCK, self._weights.lock, torch.no_grad():
            observations_SN = torch.zeros(size, num_bytes, dtype=torch.uint8, device=device)
            self.stream.wait_stream(torch.cuda.current_stream(device))
            with torch.cuda.stream(self.stream):
                for _ in range(NUM_WARM_UPS):  # first use allocates memory and picks kernels
                    forward(observations_SN)
            if not self._captures:
                return Eager(forward, observations_SN)
            graph = torch.cuda.CUDAGraph()
            with capturing(graph, self.stream):
                outputs = forward(observations_SN)
        return Captured(graph, observations_SN, outputs)
