"""Attention over a few tokens as one CUDA kernel, and its backward pass as another, in Triton.

Batched matmuls write queries, keys, logits and probabilities to memory and read them back; for two
dozen tokens all of that fits in registers. A program computes a few heads of one position. The
backward pass recomputes the probabilities instead of storing them, as FlashAttention does
(arXiv:2205.14135).

Matmuls take the dtype of their inputs and accumulate in float32; logits and probabilities are
float32.

Shapes: B positions, T tokens, R = B * T rows, H heads, K width of a head, W = H * K.
"""

from typing import Any

import torch
import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]
from torch import Tensor

MIN_TOKENS = 16
"""The smallest matmul of tensor cores; the kernel pads fewer tokens."""
MAX_HEAD_WIDTH = 128
"""Wider heads do not fit in registers."""
HEADS_PER_PROGRAM = 2


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def load_bias(  # type: ignore[no-untyped-def]
    bias, position, num_tokens, bias_kind: tl.constexpr, padded_tokens: tl.constexpr
):
    """The bias of one position, [T, T] or [1, T]; -inf for padding."""
    token_T1 = tl.arange(0, padded_tokens)[:, None]
    token_1T = tl.arange(0, padded_tokens)[None, :]
    is_token_1T = token_1T < num_tokens
    if bias_kind == "per_query":
        place = (position * num_tokens + token_T1) * num_tokens + token_1T
        loaded = tl.load(bias + place, mask=(token_T1 < num_tokens) & is_token_1T, other=0.0)
    elif bias_kind == "shared":
        loaded = tl.load(bias + position * num_tokens + token_1T, mask=is_token_1T, other=0.0)
    else:
        loaded = tl.zeros([1, padded_tokens], tl.float32)
    return tl.where(is_token_1T, loaded.to(tl.float32), float("-inf"))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def load_head(qkv_R3W, place, is_token_T1, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Query, key and value of one head, [T, K] each; `place` is the offset of its queries."""
    query_TK = tl.load(qkv_R3W + place, mask=is_token_T1, other=0.0)
    key_TK = tl.load(qkv_R3W + place + width, mask=is_token_T1, other=0.0)
    value_TK = tl.load(qkv_R3W + place + 2 * width, mask=is_token_T1, other=0.0)
    return query_TK, key_TK, value_TK


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attention_probs(query_TK, key_TK, bias_TT, scale, precision: tl.constexpr):  # type: ignore[no-untyped-def]
    """Attention probabilities, float32 [T, T]."""
    logits_TT = tl.dot(query_TK, tl.trans(key_TK), input_precision=precision) * scale + bias_TT
    probs_TT = tl.exp(logits_TT - tl.max(logits_TT, axis=1)[:, None])
    return probs_TT / tl.sum(probs_TT, axis=1)[:, None]


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attend_kernel(  # type: ignore[no-untyped-def]
    qkv_R3W,
    bias,
    attended_RW,
    num_tokens,
    scale,
    bias_kind: tl.constexpr,
    num_heads: tl.constexpr,
    head_width: tl.constexpr,
    padded_tokens: tl.constexpr,
    heads_per_program: tl.constexpr,
    precision: tl.constexpr,
):
    position = tl.program_id(0).to(tl.int64)
    width: tl.constexpr = num_heads * head_width
    token_T1 = tl.arange(0, padded_tokens)[:, None]
    column_1K = tl.arange(0, head_width)[None, :]
    is_token_T1 = token_T1 < num_tokens
    bias_TT = load_bias(bias, position, num_tokens, bias_kind, padded_tokens)
    qkv_R3W += position * num_tokens * (3 * width)
    attended_RW += position * num_tokens * width
    for number in tl.static_range(heads_per_program):
        first = (tl.program_id(1) * heads_per_program + number) * head_width
        place = token_T1 * (3 * width) + first + column_1K
        query_TK, key_TK, value_TK = load_head(qkv_R3W, place, is_token_T1, width)
        probs_TT = attention_probs(query_TK, key_TK, bias_TT, scale, precision)
        attended_TK = tl.dot(probs_TT.to(value_TK.dtype), value_TK, input_precision=precision)
        target = attended_RW + token_T1 * width + first + column_1K
        tl.store(target, attended_TK.to(value_TK.dtype), mask=is_token_T1)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attend_backward_kernel(  # type: ignore[no-untyped-def]
    qkv_R3W,
    bias,
    attended_grad_RW,
    qkv_grad_R3W,
    num_tokens,
    scale,
    bias_kind: tl.constexpr,
    num_heads: tl.constexpr,
    head_width: tl.constexpr,
    padded_tokens: tl.constexpr,
    heads_per_program: tl.constexpr,
    precision: tl.constexpr,
):
    position = tl.program_id(0).to(tl.int64)
    width: tl.constexpr = num_heads * head_width
    token_T1 = tl.arange(0, padded_tokens)[:, None]
    column_1K = tl.arange(0, head_width)[None, :]
    is_token_T1 = token_T1 < num_tokens
    bias_TT = load_bias(bias, position, num_tokens, bias_kind, padded_tokens)
    qkv_R3W += position * num_tokens * (3 * width)
    attended_grad_RW += position * num_tokens * width
    qkv_grad_R3W += position * num_tokens * (3 * width)
    dtype: tl.constexpr = qkv_R3W.dtype.element_ty
    for number in tl.static_range(heads_per_program):
        first = (tl.program_id(1) * heads_per_program + number) * head_width
        place = token_T1 * (3 * width) + first + column_1K
        query_TK, key_TK, value_TK = load_head(qkv_R3W, place, is_token_T1, width)
        attended_grad_TK = tl.load(
            attended_grad_RW + token_T1 * width + first + column_1K, mask=is_token_T1, other=0.0
        )
        probs_TT = attention_probs(query_TK, key_TK, bias_TT, scale, precision)

        value_grad_TK = tl.dot(
            tl.trans(probs_TT.to(dtype)), attended_grad_TK, input_precision=precision
        )
        tl.store(qkv_grad_R3W + place + 2 * width, value_grad_TK.to(dtype), mask=is_token_T1)
        # The backward pass of softmax: p * (dp - sum(p * dp)).
        probs_grad_TT = tl.dot(attended_grad_TK, tl.trans(value_TK), input_precision=precision)
        mean_T = tl.sum(probs_grad_TT * probs_TT, axis=1)
        logits_grad_TT = probs_TT * (probs_grad_TT - mean_T[:, None]) * scale
        logits_grad_TT = logits_grad_TT.to(dtype)
        query_grad_TK = tl.dot(logits_grad_TT, key_TK, input_precision=precision)
        tl.store(qkv_grad_R3W + place, query_grad_TK.to(dtype), mask=is_token_T1)
        key_grad_TK = tl.dot(tl.trans(logits_grad_TT), query_TK, input_precision=precision)
        tl.store(qkv_grad_R3W + place + width, key_grad_TK.to(dtype), mask=is_token_T1)


def launch(
    kernel: Any,
    qkv_R3W: Tensor,
    num_tokens: int,
    num_heads: int,
    bias: Tensor | None,
    *others: Tensor,
) -> None:
    """Launches a kernel for all heads of all positions. Rows are contiguous."""
    num_rows, width = qkv_R3W.shape[0], qkv_R3W.shape[1] // 3
    bias_kind = "none" if bias is None else "shared" if bias.numel() == num_rows else "per_query"
    heads_per_program = HEADS_PER_PROGRAM if num_heads % HEADS_PER_PROGRAM == 0 else 1
    kernel[(num_rows // num_tokens, num_heads // heads_per_program)](
        qkv_R3W,
        None if bias is None else bias.contiguous(),
        *others,
        num_tokens,
        (width // num_heads) ** -0.5,
        bias_kind=bias_kind,
        num_heads=num_heads,
        head_width=width // num_heads,
        padded_tokens=max(MIN_TOKENS, 1 << (num_tokens - 1).bit_length()),
        heads_per_program=heads_per_program,
        precision="ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32",
        num_warps=1,
    )


# Opaque to torch.compile: compiled together with the layers around it the kernel was slower.
@torch.library.custom_op("zerofleet::attend", mutates_args=())
def attend_op(qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None) -> Tensor:
    attended_RW = qkv_R3W.new_empty(qkv_R3W.shape[0], qkv_R3W.shape[1] // 3)
    launch(attend_kernel, qkv_R3W, num_tokens, num_heads, bias, attended_RW)
    return attended_RW


@attend_op.register_fake
def _(qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None) -> Tensor:
    return qkv_R3W.new_empty(qkv_R3W.shape[0], qkv_R3W.shape[1] // 3)


@torch.library.custom_op("zerofleet::attend_backward", mutates_args=())
def attend_backward_op(
    attended_grad_RW: Tensor, qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None
) -> Tensor:
    qkv_grad_R3W = torch.empty_like(qkv_R3W)
    attended_grad_RW = attended_grad_RW.contiguous()
    launch(
        attend_backward_kernel, qkv_R3W, num_tokens, num_heads, bias, attended_grad_RW, qkv_grad_R3W
    )
    return qkv_grad_R3W


@attend_backward_op.register_fake
def _(
    attended_grad_RW: Tensor, qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None
) -> Tensor:
    return torch.empty_like(qkv_R3W)


def save_for_backward(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    qkv_R3W, ctx.num_tokens, ctx.num_heads, bias = inputs
    ctx.save_for_backward(qkv_R3W, bias)


def backward(ctx: Any, attended_grad_RW: Tensor) -> tuple[Tensor, None, None, None]:
    qkv_R3W, bias = ctx.saved_tensors
    qkv_grad_R3W = attend_backward_op(
        attended_grad_RW, qkv_R3W, ctx.num_tokens, ctx.num_heads, bias
    )
    return qkv_grad_R3W, None, None, None


attend_op.register_autograd(backward, setup_context=save_for_backward)


def attend_by_kernel(
    qkv_R3W: Tensor, num_tokens: int, num_heads: int, bias_B1TT: Tensor | None
) -> Tensor:
    """Equals `attend_by_matmul`. The bias has no gradient: it is a mask."""
    attended_RW: Tensor = attend_op(qkv_R3W.contiguous(), num_tokens, num_heads, bias_B1TT)
    return attended_RW


def can_fuse(head_width: int) -> bool:
    """Whether the kernels take heads of this width: powers of two within bounds."""
    is_power_of_two = head_width & (head_width - 1) == 0
    return MIN_TOKENS <= head_width <= MAX_HEAD_WIDTH and is_power_of_two
