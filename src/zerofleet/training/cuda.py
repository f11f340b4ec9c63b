"""What steps on a CUDA GPU need besides the trainer: a stream, staging memory and a CUDA graph."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor

from zerofleet.nets.cuda import blocking_event, capturing
from zerofleet.training.loss import PackedBatch

NUM_SLOTS = 2
"""Batches in flight, so steps that the CPU may be ahead of the GPU."""

NUM_EAGER_STEPS = 3
"""Steps before the capture, in which kernels are compiled and chosen and memory is allocated. They
train like all others."""


def training_stream(device: torch.device) -> torch.cuda.Stream:
    """A stream of the lowest priority, which begins after all work queued so far."""
    stream = torch.cuda.Stream(device, priority=0)  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream(device))
    return stream


@dataclass(frozen=True)
class Slot:
    """Memory of one batch in flight."""

    pinned: PackedBatch
    on_device: PackedBatch
    uploaded: torch.cuda.Event
    was_read: torch.cuda.Event

    @classmethod
    def like(cls, packed: PackedBatch, device: torch.device) -> "Slot":
        pinned = PackedBatch(*(torch.empty_like(each, pin_memory=True) for each in packed))
        on_device = PackedBatch(*(torch.empty_like(each, device=device) for each in packed))
        return cls(pinned, on_device, blocking_event(), blocking_event())


class Staging:
    """Uploads batches through pinned memory, on a stream of its own, while the last step runs.

    Its slots are allocated once, for batches of one size.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._slots: list[Slot] = []
        self._num_uploaded = 0
        self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    @contextmanager
    def on_device(self, packed: PackedBatch) -> Iterator[PackedBatch]:
        """The batch on the device, for what the current stream is given within."""
        slot = self._next_slot(packed)
        slot.was_read.synchronize()
        with torch.cuda.stream(self._stream):
            for given, pinned, uploaded in zip(packed, slot.pinned, slot.on_device, strict=True):
                pinned.copy_(given)
                uploaded.copy_(pinned, non_blocking=True)
            slot.uploaded.record()
        torch.cuda.current_stream(self._device).wait_event(slot.uploaded)
        try:
            yield slot.on_device
        finally:
            slot.was_read.record()

    def _next_slot(self, packed: PackedBatch) -> Slot:
        if not self._slots or self._slots[0].pinned.rows_BR.shape != packed.rows_BR.shape:
            # Steps in flight still read the old slots. To synchronise the whole device would break
            # a capture in another thread.
            torch.cuda.current_stream(self._device).synchronize()
            self._slots = [Slot.like(packed, self._device) for _ in range(NUM_SLOTS)]
        self._num_uploaded += 1
        return self._slots[self._num_uploaded % NUM_SLOTS]


class CapturedStep:
    """A step as one launch of a CUDA graph instead of one per kernel, for batches of one size.

    The first few steps run eagerly. Call it within `stream`; the next call overwrites what it
    returned.
    """

    def __init__(self, step: Callable[[PackedBatch], Tensor], stream: torch.cuda.Stream) -> None:
        self._step = step
        self._stream = stream
        self._num_eager_steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, packed: PackedBatch) -> Tensor:
        if self._num_eager_steps < NUM_EAGER_STEPS:
            self._num_eager_steps += 1
            return self._step(packed)
        if self._graph is None:
            self._graph = self._capture(packed)
        for own, new in zip(self._packed, packed, strict=True):
            own.copy_(new)
        self._graph.replay()
        return self._metrics

    def _capture(self, packed: PackedBatch) -> torch.cuda.CUDAGraph:
        self._packed = PackedBatch(*(tensor.clone() for tensor in packed))
        graph = torch.cuda.CUDAGraph()
        with capturing(graph, self._stream):
            self._metrics = self._step(self._packed)
        return graph
