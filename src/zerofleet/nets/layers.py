"""Layers that several networks share: residual MLP and pre-norm transformer (arXiv:1706.03762).

Shapes: B batch, T tokens, R = B * T rows, H heads, W width, K width of a head, I inputs.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

Attend = Callable[[Tensor, int, int, Tensor | None], Tensor]
"""See `attend_by_matmul`."""

FEED_FORWARD = 3
"""Hidden width of the feed-forward block, in token widths, unless a network says otherwise."""

FORBIDDEN = -1e4
"""Added to masked attention logits. Finite in half precision too."""


class FeedForward(nn.Sequential):
    """Layer norm, linear, ReLU, linear, dropout: one residual branch."""

    def __init__(self, width: int, hidden_width: int, dropout: float = 0.0) -> None:
        super().__init__(
            nn.LayerNorm(width),
            nn.Linear(width, hidden_width),
            nn.ReLU(),
            nn.Linear(hidden_width, width),
            nn.Dropout(dropout),
        )


def attend_by_matmul(
    qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias_B1TT: Tensor | None
) -> Tensor:
    """Multi-head attention within each position, [R, W].

    A row of `qkv_R3W` is a token's query, key and value, each head by head. The bias is added to
    logits: [B, 1, T, T], or [B, 1, 1, T] where it is the same for all queries. For two dozen tokens
    plain batched matmuls beat torch's fused attention.
    """
    head_width = qkv_R3W.shape[1] // (3 * num_heads)
    by_head = qkv_R3W.reshape(-1, num_tokens, 3, num_heads, head_width)
    query_BHTK, key_BHTK, value_BHTK = by_head.permute(2, 0, 3, 1, 4)
    logits_BHTT = (query_BHTK * head_width**-0.5) @ key_BHTK.transpose(2, 3)
    if bias_B1TT is not None:
        logits_BHTT = logits_BHTT + bias_B1TT
    attended_BHTK = torch.softmax(logits_BHTT, dim=3) @ value_BHTK
    attended_RW: Tensor = attended_BHTK.transpose(1, 2).reshape(-1, num_heads * head_width)
    return attended_RW


class Attention(nn.Module):
    """Layer norm, self-attention, dropout: one residual branch."""

    attend: Attend
    """`attend_by_matmul`, or on a GPU a kernel (nets/small_attention.py)."""

    def __init__(self, width: int, num_heads: int, dropout: float) -> None:
        super().__init__()
        self.num_heads = num_heads
        self.head_width = width // num_heads
        self.norm = nn.LayerNorm(width)
        self.query_key_value = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.dropout = nn.Dropout(dropout)
        self.attend = attend_by_matmul

    def forward(self, x_RW: Tensor, num_tokens: int, bias_B1TT: Tensor | None) -> Tensor:
        qkv_R3W = self.query_key_value(self.norm(x_RW))
        attended_RW = self.attend(qkv_R3W, num_tokens, self.num_heads, bias_B1TT)
        projected_RW: Tensor = self.dropout(self.mix(attended_RW))
        return projected_RW


def fuse_attention(network: nn.Module) -> None:
    """Switches a network on a CUDA GPU to the fused attention kernel where its heads fit."""
    for module in network.modules():
        if isinstance(module, Attention):
            # Needs Triton, which comes with CUDA builds of torch.
            from zerofleet.nets.small_attention import attend_by_kernel, can_fuse

            if can_fuse(module.head_width):
                module.attend = attend_by_kernel


class TransformerLayer(nn.Module):
    """Attention, then feed-forward, each with a residual connection."""

    def __init__(self, width: int, num_heads: int, dropout: float, feed_forward: int) -> None:
        super().__init__()
        self.attention = Attention(width, num_heads, dropout)
        self.feed_forward = FeedForward(width, feed_forward * width, dropout)

    def forward(self, x_RW: Tensor, num_tokens: int, bias_B1TT: Tensor | None) -> Tensor:
        x_RW = x_RW + self.attention(x_RW, num_tokens, bias_B1TT)
        x_RW = x_RW + self.feed_forward(x_RW)
        return x_RW


class Transformer(nn.Module):
    """Layers, then a layer norm. With no layers, the norm alone.

    Inside, the tokens of all positions are the rows of one matrix, the fastest layout for linear
    layers. Under autocast the residual stream has its dtype too, which halves memory traffic.
    """

    def __init__(
        self,
        num_layers: int,
        width: int,
        num_heads: int,
        dropout: float = 0.0,
        feed_forward: int = FEED_FORWARD,
    ) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            TransformerLayer(width, num_heads, dropout, feed_forward) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(width)

    def forward(self, x_BTW: Tensor, bias_B1TT: Tensor | None = None) -> Tensor:
        """Takes and returns [B, T, W]. `bias_B1TT` is added to attention logits; it broadcasts."""
        num_tokens, width = x_BTW.shape[1], x_BTW.shape[2]
        x_RW = x_BTW.reshape(-1, width)
        if torch.is_autocast_enabled(x_RW.device.type):
            x_RW = x_RW.to(torch.get_autocast_dtype(x_RW.device.type))
        for layer in self.layers:
            x_RW = layer(x_RW, num_tokens, bias_B1TT)
        normed_RW: Tensor = self.norm(x_RW)
        return normed_RW.reshape(-1, num_tokens, width)


class ResidualMlp(nn.Module):
    """A linear layer, residual feed-forward blocks, a layer norm: [B, I] to [B, W]."""

    def __init__(self, num_inputs: int, width: int, num_blocks: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.first = nn.Linear(num_inputs, width)
        self.blocks = nn.ModuleList(FeedForward(width, width, dropout) for _ in range(num_blocks))
        self.norm = nn.LayerNorm(width)

    def forward(self, x_BI: Tensor) -> Tensor:
        x_BW: Tensor = self.first(x_BI)
        for block in self.blocks:
            x_BW = x_BW + block(x_BW)
        normed_BW: Tensor = self.norm(x_BW)
        return normed_BW
