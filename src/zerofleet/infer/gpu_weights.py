"""A network as a GPU runs it fastest: fused layers in bfloat16, refreshed from each version.

Matrices and kernels are cast once per version instead of once per batch, batch norms are folded
into their convolutions, a linear layer and its ReLU are one kernel. Layer norms and other small
tensors stay in float32.

Shapes: B observations, N bytes of an observation, R rows, W width.
"""

import copy
import threading

import torch
from torch import Tensor, nn

from zerofleet.infer.evaluator import State, checked_state
from zerofleet.infer.torch_evaluator import as_tensor
from zerofleet.nets import Network, from_spec
from zerofleet.nets.board import ConvNorm
from zerofleet.nets.layers import FeedForward, fuse_attention
from zerofleet.nets.network import InferenceNetwork


class GpuWeights:
    """Weights that are replaced in place, so that captured and compiled code keeps using them.

    A call takes observations uint8 [B, N] on the device; it returns policy logits [B, A] and
    outcome probabilities [B, O].
    """

    def __init__(
        self,
        network: Network,
        device: torch.device,
        version: int = 0,
        dtype: torch.dtype = torch.bfloat16,
    ) -> None:
        self.spec = network.spec
        self.device = device
        self.version = version
        self._dtype = dtype
        self.lock = threading.Lock()
        """Held by whoever launches work that reads the weights, and by `load`."""
        self._readers: list[torch.cuda.Stream] = []
        self._shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
        self._plain = from_spec(network.spec).eval().requires_grad_(False).to(device)
        self._fused = fused_copy(self._plain, device, dtype)
        self._inference = InferenceNetwork(self._fused).eval()
        self._plain.load_state_dict(network.state_dict())
        self._refresh()

    def __call__(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        # No cast cache: a graph must cast the weights as they are at replay.
        with torch.autocast(
            self.device.type,
            self._dtype,
            enabled=self._dtype is not torch.float32,
            cache_enabled=False,
        ):
            logits_BA, outcomes_BO = self._inference(observations_BN)
        return logits_BA.float(), outcomes_BO.float()

    def load(self, state: State, version: int) -> None:
        """Replaces the weights between batches launched before and after.

        Weights that do not fit are refused by name, and the old ones stay.
        """
        arrays = checked_state(state, self._shapes, version, self.version)
        tensors = {name: as_tensor(value) for name, value in arrays.items()}
        with self.lock:
            # On the current stream, where a trainer in this process wrote the weights.
            for stream in self._readers:
                torch.cuda.current_stream(self.device).wait_stream(stream)
            self._plain.load_state_dict(tensors)
            self._refresh()
            for stream in self._readers:
                stream.wait_stream(torch.cuda.current_stream(self.device))
            self.version = version

    def read_on(self, stream: torch.cuda.Stream) -> None:
        """Makes batches on this stream and `load` wait for one another."""
        with self.lock:
            self._readers.append(stream)
            stream.wait_stream(torch.cuda.current_stream(self.device))

    @torch.no_grad()
    def _refresh(self) -> None:
        for name, fused in self._fused.named_modules():
            plain = self._plain.get_submodule(name)
            if isinstance(fused, FoldedConv) and isinstance(plain, ConvNorm):
                fused.fold(plain)
            else:
                for key, value in own_tensors(plain):
                    getattr(fused, key).copy_(value)


def fused_copy(network: Network, device: torch.device, dtype: torch.dtype) -> Network:
    """The same network of fused layers, its matrices and kernels in that dtype."""
    fused = copy.deepcopy(network)
    for name, module in list(fused.named_modules()):
        if isinstance(module, ConvNorm):
            folded = FoldedConv(module).requires_grad_(False).to(device, dtype)
            folded.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
            fused.set_submodule(name, folded)
        elif isinstance(module, (nn.Linear, nn.Conv2d)):
            module.to(dtype)
        elif isinstance(module, FeedForward):
            fused.set_submodule(name, FusedFeedForward(*module))
    if device.type == "cuda":
        fuse_attention(fused)
    return fused


def own_tensors(module: nn.Module) -> list[tuple[str, Tensor]]:
    """The parameters and buffers of a module, without those of its submodules."""
    return [*module.named_parameters(recurse=False), *module.named_buffers(recurse=False)]


class FoldedConv(nn.Conv2d):
    """A convolution with its batch norm folded in, in place of a ConvNorm."""

    def __init__(self, plain: ConvNorm) -> None:
        conv = plain.conv
        size = conv.kernel_size[0]
        super().__init__(conv.in_channels, conv.out_channels, size, padding=size // 2)

    @property
    def conv(self) -> nn.Conv2d:
        return self

    def fold(self, plain: ConvNorm) -> None:
        """Copies the current weights of the two."""
        weight, bias = plain.folded()
        self.weight.copy_(weight)
        assert self.bias is not None
        self.bias.copy_(bias)


@torch.library.custom_op("zerofleet::linear_relu", mutates_args=())
def linear_relu(x_RW: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A linear layer and its ReLU in one kernel, which writes its output once."""
    return torch._addmm_activation(bias, x_RW, weight.t())


@linear_relu.register_fake
def _(x_RW: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x_RW.new_empty(x_RW.shape[0], weight.shape[0])


class FusedFeedForward(nn.Sequential):
    """The layers of a FeedForward, the first linear one fused with the ReLU."""

    def forward(self, x_RW: Tensor) -> Tensor:
        norm, first, _, second, _ = self
        assert isinstance(first, nn.Linear)
        hidden_RW = linear_relu(norm(x_RW).to(first.weight.dtype), first.weight, first.bias)
        output_RW: Tensor = second(hidden_RW)
        return output_RW
