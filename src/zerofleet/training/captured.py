"""A step on a CUDA GPU as one launch, instead of one for each kernel."""

from collections.abc import Callable

import torch
from torch import Tensor

from zerofleet.nets.cuda import capturing
from zerofleet.training.unpack import PackedBatch

NUM_PLAIN_STEPS = 3
"""Steps before the capture, in which kernels are compiled and chosen and memory is allocated. They
are steps like all others."""


class CapturedStep:
    """Makes steps on batches of one size: the first few plainly, then all from a graph.

    To be called within `stream`. What it returns is good until it is called again.
    """

    def __init__(self, step: Callable[[PackedBatch], Tensor], stream: torch.cuda.Stream) -> None:
        self._step = step
        self._stream = stream
        self._num_plain_steps = 0
        self._graph: torch.cuda.CUDAGraph | None = None

    def __call__(self, packed: PackedBatch) -> Tensor:
        if self._num_plain_steps < NUM_PLAIN_STEPS:
            self._num_plain_steps += 1
            return self._step(packed)
        if self._graph is None:
            self._graph = self._captured(packed)
        for own, new in zip(self._packed, packed, strict=True):
            own.copy_(new)
        self._graph.replay()
        return self._found

    def _captured(self, packed: PackedBatch) -> torch.cuda.CUDAGraph:
        self._packed = PackedBatch(*(tensor.clone() for tensor in packed))
        graph = torch.cuda.CUDAGraph()
        with capturing(graph, self._stream):
            self._found = self._step(self._packed)
        return graph
