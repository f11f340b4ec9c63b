"""Evaluates on a CUDA GPU, in bfloat16, from CUDA graphs.

Shapes: B observations, N bytes of an observation.
"""

import threading
import warnings

import torch

from zerofleet.infer.cuda_graphs import LEAST_SIZE, CudaStream, GpuClock, PinnedRows
from zerofleet.infer.evaluator import Observations, Rows, State, checked_observations
from zerofleet.infer.gpu_weights import GpuWeights
from zerofleet.infer.pipeline import Pipeline
from zerofleet.infer.torch_evaluator import out_of_memory
from zerofleet.nets import Network
from zerofleet.nets.cuda import compiled, use_tf32

NUM_STREAMS = 3
"""One batch on the GPU, one behind it, and one for the time in which the host hands batches on."""


class CudaEvaluator:
    """Answers with a copy of a network's weights, which `load` replaces.

    A call answers one batch and waits for it, from graphs that are made in a second: that of small
    batches at once, larger ones when they are needed. `pipeline` is for self-play: batches of one
    size, several in flight, compiled unless `compiles` is off.
    """

    def __init__(
        self, network: Network, device: torch.device, version: int = 0, compiles: bool = True
    ) -> None:
        use_tf32()  # what is not in bfloat16 need not be exact in the last bits either
        self.device = device
        self._compiles = compiles
        self._weights = GpuWeights(network, device, version)
        self._slots = [PinnedRows(LEAST_SIZE, network.spec)]
        self._stream = CudaStream(
            self._weights, self._slots, GpuClock(device), LEAST_SIZE, self._weights
        )
        self._stream.captured(LEAST_SIZE)
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
                    self._slots[0] = PinnedRows(self._stream.size_for(num_rows), self._weights.spec)
                self._stream.start(0, rows_BN)
                finished = self._stream.finish()
                return finished.policy_logits_BA.copy(), finished.outcomes_BO.copy()
        except torch.OutOfMemoryError as error:
            raise out_of_memory(self.device, num_rows) from error

    def load(self, state: State, version: int) -> None:
        self._weights.load(state, version)

    def pipeline(
        self, num_slots: int, rows_per_slot: int, num_streams: int = NUM_STREAMS
    ) -> Pipeline:
        """For batches of at most `rows_per_slot`, most of them as large. Is ready when it returns,
        which takes half a minute where it has to compile."""
        spec, clock = self._weights.spec, GpuClock(self.device)
        try:
            answer = compiled(self._weights.__call__) if self._compiles else self._weights
            slots = [PinnedRows(rows_per_slot, spec) for _ in range(num_slots)]
            streams = [
                CudaStream(self._weights, slots, clock, rows_per_slot, answer)
                for _ in range(num_streams)
            ]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the compiler tells of what it did not try
                for stream in streams:
                    stream.captured(rows_per_slot)
        except torch.OutOfMemoryError as error:
            raise out_of_memory(self.device, rows_per_slot) from error
        return Pipeline(self, streams)
