"""A network's weights as a GPU reads them fastest, made anew from each version.

Matrices and kernels are in bfloat16, and a batch norm is part of its convolution, so that neither
is seen to in every batch. Layer norms and whatever else is small stay in float32.
"""

import copy
import threading

import torch
from torch import Tensor, nn

from zerofleet.infer.evaluator import State, checked_state
from zerofleet.infer.fused_layers import FoldedConv, FusedFeedForward
from zerofleet.infer.torch_evaluator import as_tensor
from zerofleet.nets import Network, from_spec
from zerofleet.nets.board import ConvNorm
from zerofleet.nets.layers import FeedForward, fuse_attention
from zerofleet.nets.network import InferenceNetwork


class GpuWeights:
    """Weights that are replaced in place, so that what was captured or compiled goes on with them.

    Called with observations uint8 [B, N] on the device it gives policy logits and outcomes.
    """

    def __init__(
        self,
        network: Network,
        device: torch.device,
        version: int = 0,
        number_type: torch.dtype = torch.bfloat16,
    ) -> None:
        self.spec = network.spec
        self.device = device
        self.version = version
        self._number_type = number_type
        self.lock = threading.Lock()
        """Held by whoever launches work that reads the weights, and by `load`."""
        self._readers: list[torch.cuda.Stream] = []
        self._shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
        self._plain = from_spec(network.spec).eval().requires_grad_(False).to(device)
        self._served = fused_copy(self._plain, device, number_type)
        self._answers = InferenceNetwork(self._served).eval()
        self._plain.load_state_dict(network.state_dict())
        self._refresh()

    def __call__(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        # Casts are not kept: a graph must make them from the weights as they then are.
        with torch.autocast(
            self.device.type,
            self._number_type,
            enabled=self._number_type is not torch.float32,
            cache_enabled=False,
        ):
            logits_BA, outcomes_BO = self._answers(observations_BN)
        return logits_BA.float(), outcomes_BO.float()

    def load(self, state: State, version: int) -> None:
        """Puts other weights in place: between what was launched before and what is after.

        Weights that do not fit are refused by name, and the old ones stay.
        """
        arrays = checked_state(state, self._shapes, version, self.version)
        tensors = {name: as_tensor(value) for name, value in arrays.items()}
        with self.lock:
            # On the stream that is current, where a trainer of this process made the weights.
            for stream in self._readers:
                torch.cuda.current_stream(self.device).wait_stream(stream)
            self._plain.load_state_dict(tensors)
            self._refresh()
            for stream in self._readers:
                stream.wait_stream(torch.cuda.current_stream(self.device))
            self.version = version

    def read_on(self, stream: torch.cuda.Stream) -> None:
        """From now on batches on this stream and new weights wait for one another."""
        with self.lock:
            self._readers.append(stream)
            stream.wait_stream(torch.cuda.current_stream(self.device))

    @torch.no_grad()
    def _refresh(self) -> None:
        for name, served in self._served.named_modules():
            plain = self._plain.get_submodule(name)
            if isinstance(served, FoldedConv) and isinstance(plain, ConvNorm):
                served.fold(plain)
            else:
                for key, value in own_tensors(plain):
                    getattr(served, key).copy_(value)


def fused_copy(network: Network, device: torch.device, number_type: torch.dtype) -> Network:
    """The same network of fused layers, its matrices and kernels of that type."""
    served = copy.deepcopy(network)
    for name, module in list(served.named_modules()):
        if isinstance(module, ConvNorm):
            folded = FoldedConv(module).requires_grad_(False).to(device, number_type)
            folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            served.set_submodule(name, folded)
        elif isinstance(module, (nn.Linear, nn.Conv2d)):
            module.to(number_type)
        elif isinstance(module, FeedForward):
            served.set_submodule(name, FusedFeedForward(*module))
    if device.type == "cuda":
        fuse_attention(served)
    return served


def own_tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    """The weights and constants of a module, without those of the modules in it."""
    return [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]
