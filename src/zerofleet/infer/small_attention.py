"""Attention over a few tokens in one kernel, for CUDA GPUs.

Plain products write queries, keys, logits and shares out and read them back; for two dozen tokens
all of that fits into registers. A program takes some heads of one position.

Shapes: B positions, T tokens, R = B * T rows, H heads, K width of a head, W = H * K.
"""

import torch
import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]
from torch import Tensor, nn

from zerofleet.nets.layers import Attention

LEAST_TOKENS = 16
"""What tensor cores multiply at the least; fewer are filled up within the kernel."""
HEADS_PER_PROGRAM = 2


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attend_kernel(  # type: ignore[no-untyped-def]
    both_R3W,
    bias_BTT,
    mixed_RW,
    num_tokens,
    bias_stride_B,
    bias_stride_T,
    scale,
    has_bias: tl.constexpr,
    num_heads: tl.constexpr,
    head_width: tl.constexpr,
    tokens_filled: tl.constexpr,
    heads_per_program: tl.constexpr,
):
    position = tl.program_id(0)
    width: tl.constexpr = num_heads * head_width
    token = tl.arange(0, tokens_filled)
    column = tl.arange(0, head_width)
    is_token = token < num_tokens
    row = position * num_tokens + token
    if has_bias:
        bias_TT = tl.load(
            bias_BTT + position * bias_stride_B + token[:, None] * bias_stride_T + token[None, :],
            mask=is_token[:, None] & is_token[None, :],
            other=0.0,
        )
    for number in tl.static_range(heads_per_program):
        first = (tl.program_id(1) * heads_per_program + number) * head_width
        cell = both_R3W + row[:, None] * (3 * width) + first + column[None, :]
        query_TK = tl.load(cell, mask=is_token[:, None], other=0.0)
        key_TK = tl.load(cell + width, mask=is_token[:, None], other=0.0)
        value_TK = tl.load(cell + 2 * width, mask=is_token[:, None], other=0.0)
        logits_TT = tl.dot(query_TK, tl.trans(key_TK)) * scale
        if has_bias:
            logits_TT += bias_TT
        logits_TT = tl.where(is_token[None, :], logits_TT, float("-inf"))
        shares_TT = tl.exp(logits_TT - tl.max(logits_TT, axis=1)[:, None])
        shares_TT = shares_TT / tl.sum(shares_TT, axis=1)[:, None]
        mixed_TK = tl.dot(shares_TT.to(value_TK.dtype), value_TK)
        target = mixed_RW + row[:, None] * width + first + column[None, :]
        tl.store(target, mixed_TK.to(value_TK.dtype), mask=is_token[:, None])


# What the compiler sees of the kernel is this: compiled along with the rest it was slower.
@torch.library.custom_op("zerofleet::attend", mutates_args=())
def attend(both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor) -> Tensor:
    """What the tokens of each position take from one another, [R, W].

    Rows of `both_R3W` are a token's queries, keys and values, each head by head. The bias is for
    logits, [B, 1, T, T] or the same for all tokens that look, [B, 1, 1, T]; or empty.
    """
    num_rows, width = both_R3W.shape[0], both_R3W.shape[1] // 3
    mixed_RW = both_R3W.new_empty(num_rows, width)
    bias = bias.contiguous()
    looks_alike = bias.numel() == num_rows
    heads_per_program = HEADS_PER_PROGRAM if num_heads % HEADS_PER_PROGRAM == 0 else 1
    attend_kernel[(num_rows // num_tokens, num_heads // heads_per_program)](
        both_R3W,
        bias,
        mixed_RW,
        num_tokens,
        num_tokens if looks_alike else num_tokens * num_tokens,
        0 if looks_alike else num_tokens,
        (width // num_heads) ** -0.5,
        has_bias=bias.numel() > 0,
        num_heads=num_heads,
        head_width=width // num_heads,
        tokens_filled=max(LEAST_TOKENS, 1 << (num_tokens - 1).bit_length()),
        heads_per_program=heads_per_program,
        num_warps=1,
    )
    return mixed_RW


@attend.register_fake
def _(both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor) -> Tensor:
    return both_R3W.new_empty(both_R3W.shape[0], both_R3W.shape[1] // 3)


class FusedAttention(nn.Module):
    """The layers of a plain attention, with the kernel between them."""

    def __init__(self, plain: Attention) -> None:
        super().__init__()
        self.num_heads = plain.num_heads
        self.norm = plain.norm
        self.query_key_value = plain.query_key_value
        self.mix = plain.mix

    def forward(self, x_RW: Tensor, num_tokens: int, bias_B1TT: Tensor | None) -> Tensor:
        both_R3W = self.query_key_value(self.norm(x_RW))
        bias = both_R3W.new_empty(0) if bias_B1TT is None else bias_B1TT
        answer_RW: Tensor = self.mix(attend(both_R3W, num_tokens, self.num_heads, bias))
        return answer_RW


def can_fuse(attention: Attention) -> bool:
    """Whether the kernel takes heads of this width: a power of two that tensor cores multiply."""
    head_width = attention.head_width
    return head_width >= LEAST_TOKENS and head_width & (head_width - 1) == 0
