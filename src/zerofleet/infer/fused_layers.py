"""Layers that do in one go what training does in several, for GPUs.

They compute the same as the layers that they stand for, and keep the names of their weights.

Shapes: R rows, W width.
"""

import torch
from torch import Tensor, nn

from zerofleet.nets.board import ConvNorm


class FoldedConv(nn.Conv2d):
    """A convolution that has its batch norm in it, in place of both."""

    def __init__(self, plain: ConvNorm) -> None:
        conv = plain.conv
        size = conv.kernel_size[0]
        super().__init__(conv.in_channels, conv.out_channels, size, padding=size // 2)

    @property
    def conv(self) -> nn.Conv2d:
        return self

    def fold(self, plain: ConvNorm) -> None:
        """Takes over what the two have now."""
        weight, bias = plain.folded()
        self.weight.copy_(weight)
        assert self.bias is not None
        self.bias.copy_(bias)


@torch.library.custom_op("zerofleet::linear_relu", mutates_args=())
def linear_relu(x_RW: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    """A linear layer that writes its answers after the ReLU, instead of before and after."""
    return torch._addmm_activation(bias, x_RW, weight.t())


@linear_relu.register_fake
def _(x_RW: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    return x_RW.new_empty(x_RW.shape[0], weight.shape[0])


class FusedFeedForward(nn.Sequential):
    """The layers of a FeedForward, the first linear one and the ReLU as one."""

    def forward(self, x_RW: Tensor) -> Tensor:
        norm, first, _, second, _ = self
        assert isinstance(first, nn.Linear)
        hidden_RW = linear_relu(norm(x_RW).to(first.weight.dtype), first.weight, first.bias)
        answer_RW: Tensor = second(hidden_RW)
        return answer_RW
