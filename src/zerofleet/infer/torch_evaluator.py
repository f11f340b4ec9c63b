"""Evaluates with torch in float32, on a CPU or Apple's MPS.

Shapes: B observations, N bytes of an observation.
"""

import threading
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zerofleet.errors import TooLarge, Unsupported
from zerofleet.infer.devices import pick_device
from zerofleet.infer.evaluator import (
    Observations,
    Rows,
    State,
    checked_observations,
    checked_state,
)
from zerofleet.nets import Network, from_spec
from zerofleet.nets.network import InferenceNetwork


class TorchEvaluator:
    """Evaluates with a copy of a network's weights, which `load` replaces."""

    def __init__(self, network: Network, device: str = "cpu", version: int = 0) -> None:
        self.device = pick_device(device)
        if self.device.type == "cuda":
            raise Unsupported("TorchEvaluator is for cpu or mps; a CUDA GPU has CudaEvaluator")
        self._version = version
        self._num_bytes = network.spec.observation_bytes
        self._network = from_spec(network.spec)
        self._network.load_state_dict(network.state_dict())
        self._shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
        self._inference = InferenceNetwork(self._network).eval().to(self.device)
        if self.device.type != "mps":
            put_channels_last(self._network)
        self._lock = threading.Lock()

    @property
    def version(self) -> int:
        return self._version

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        rows_BN = checked_observations(observations_BN, self._num_bytes)
        try:
            with self._lock, torch.inference_mode():
                outputs = self._inference(torch.from_numpy(np.array(rows_BN)).to(self.device))
                return as_rows(outputs[0]), as_rows(outputs[1])
        except torch.OutOfMemoryError as error:
            raise out_of_memory(self.device, len(rows_BN)) from error

    def load(self, state: State, version: int) -> None:
        arrays = checked_state(state, self._shapes, version, self._version)
        tensors = {name: as_tensor(value) for name, value in arrays.items()}
        with self._lock:
            self._network.load_state_dict(tensors)
            self._version = version


def put_channels_last(network: Network) -> None:
    """Puts convolution weights into the layout that is fastest on CPUs."""
    for parameter in network.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.contiguous(memory_format=torch.channels_last)


def as_tensor(weight: Tensor | NDArray[Any]) -> Tensor:
    return weight if isinstance(weight, Tensor) else torch.from_numpy(np.array(weight))


def as_rows(output: Tensor) -> Rows:
    rows: Rows = np.ascontiguousarray(output.float().cpu().numpy())
    return rows


def out_of_memory(device: torch.device, num_rows: int) -> TooLarge:
    return TooLarge(
        f"out of memory on {device} with a batch of {num_rows} observations; "
        "lower selfplay.games_per_group"
    )
