"""Attention over a few tokens in one kernel, and its gradients in another, for CUDA GPUs.

Plain products write queries, keys, logits and shares out and read them back; for two dozen tokens
all of that fits into registers. A program takes some heads of one position. On the way back the
shares are computed again, so that they need not be kept.

Products are of the numbers' own type and summed up in float32; logits and shares are float32.

Shapes: B positions, T tokens, R = B * T rows, H heads, K width of a head, W = H * K.
"""

from typing import Any

import torch
import triton  # type: ignore[import-not-found,import-untyped,unused-ignore]
import triton.language as tl  # type: ignore[import-not-found,import-untyped,unused-ignore]
from torch import Tensor

LEAST_TOKENS = 16
"""What tensor cores multiply at the least; fewer are filled up within the kernel."""
MOST_HEAD_WIDTH = 128
"""Wider heads do not fit into registers."""
HEADS_PER_PROGRAM = 2


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def load_bias(  # type: ignore[no-untyped-def]
    bias, position, num_tokens, bias_kind: tl.constexpr, tokens_filled: tl.constexpr
):
    """Of one position, [T, T] or [1, T]; -inf towards tokens that only fill up."""
    token_T1 = tl.arange(0, tokens_filled)[:, None]
    token_1T = tl.arange(0, tokens_filled)[None, :]
    is_token_1T = token_1T < num_tokens
    if bias_kind == "each":
        place = (position * num_tokens + token_T1) * num_tokens + token_1T
        loaded = tl.load(bias + place, mask=(token_T1 < num_tokens) & is_token_1T, other=0.0)
    elif bias_kind == "alike":
        loaded = tl.load(bias + position * num_tokens + token_1T, mask=is_token_1T, other=0.0)
    else:
        loaded = tl.zeros([1, tokens_filled], tl.float32)
    return tl.where(is_token_1T, loaded.to(tl.float32), float("-inf"))


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def load_head(both_R3W, place, is_token_T1, width: tl.constexpr):  # type: ignore[no-untyped-def]
    """Queries, keys and values of one head, [T, K] each; `place` is that of its queries."""
    query_TK = tl.load(both_R3W + place, mask=is_token_T1, other=0.0)
    key_TK = tl.load(both_R3W + place + width, mask=is_token_T1, other=0.0)
    value_TK = tl.load(both_R3W + place + 2 * width, mask=is_token_T1, other=0.0)
    return query_TK, key_TK, value_TK


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def shares_of(query_TK, key_TK, bias_TT, scale, precision: tl.constexpr):  # type: ignore[no-untyped-def]
    """How much each token takes from each other; in float32."""
    logits_TT = tl.dot(query_TK, tl.trans(key_TK), input_precision=precision) * scale + bias_TT
    shares_TT = tl.exp(logits_TT - tl.max(logits_TT, axis=1)[:, None])
    return shares_TT / tl.sum(shares_TT, axis=1)[:, None]


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attend_kernel(  # type: ignore[no-untyped-def]
    both_R3W,
    bias,
    mixed_RW,
    num_tokens,
    scale,
    bias_kind: tl.constexpr,
    num_heads: tl.constexpr,
    head_width: tl.constexpr,
    tokens_filled: tl.constexpr,
    heads_per_program: tl.constexpr,
    precision: tl.constexpr,
):
    position = tl.program_id(0).to(tl.int64)
    width: tl.constexpr = num_heads * head_width
    token_T1 = tl.arange(0, tokens_filled)[:, None]
    column_1K = tl.arange(0, head_width)[None, :]
    is_token_T1 = token_T1 < num_tokens
    bias_TT = load_bias(bias, position, num_tokens, bias_kind, tokens_filled)
    both_R3W += position * num_tokens * (3 * width)
    mixed_RW += position * num_tokens * width
    for number in tl.static_range(heads_per_program):
        first = (tl.program_id(1) * heads_per_program + number) * head_width
        place = token_T1 * (3 * width) + first + column_1K
        query_TK, key_TK, value_TK = load_head(both_R3W, place, is_token_T1, width)
        shares_TT = shares_of(query_TK, key_TK, bias_TT, scale, precision)
        mixed_TK = tl.dot(shares_TT.to(value_TK.dtype), value_TK, input_precision=precision)
        target = mixed_RW + token_T1 * width + first + column_1K
        tl.store(target, mixed_TK.to(value_TK.dtype), mask=is_token_T1)


@triton.jit  # type: ignore[untyped-decorator,unused-ignore]
def attend_back_kernel(  # type: ignore[no-untyped-def]
    both_R3W,
    bias,
    mixed_grad_RW,
    both_grad_R3W,
    num_tokens,
    scale,
    bias_kind: tl.constexpr,
    num_heads: tl.constexpr,
    head_width: tl.constexpr,
    tokens_filled: tl.constexpr,
    heads_per_program: tl.constexpr,
    precision: tl.constexpr,
):
    position = tl.program_id(0).to(tl.int64)
    width: tl.constexpr = num_heads * head_width
    token_T1 = tl.arange(0, tokens_filled)[:, None]
    column_1K = tl.arange(0, head_width)[None, :]
    is_token_T1 = token_T1 < num_tokens
    bias_TT = load_bias(bias, position, num_tokens, bias_kind, tokens_filled)
    both_R3W += position * num_tokens * (3 * width)
    mixed_grad_RW += position * num_tokens * width
    both_grad_R3W += position * num_tokens * (3 * width)
    number_type: tl.constexpr = both_R3W.dtype.element_ty
    for number in tl.static_range(heads_per_program):
        first = (tl.program_id(1) * heads_per_program + number) * head_width
        place = token_T1 * (3 * width) + first + column_1K
        query_TK, key_TK, value_TK = load_head(both_R3W, place, is_token_T1, width)
        mixed_grad_TK = tl.load(
            mixed_grad_RW + token_T1 * width + first + column_1K, mask=is_token_T1, other=0.0
        )
        shares_TT = shares_of(query_TK, key_TK, bias_TT, scale, precision)

        value_grad_TK = tl.dot(
            tl.trans(shares_TT.to(number_type)), mixed_grad_TK, input_precision=precision
        )
        tl.store(both_grad_R3W + place + 2 * width, value_grad_TK.to(number_type), mask=is_token_T1)
        # Shares add up to 1, so a logit has only what its share's gradient is above their mean.
        shares_grad_TT = tl.dot(mixed_grad_TK, tl.trans(value_TK), input_precision=precision)
        mean_T = tl.sum(shares_grad_TT * shares_TT, axis=1)
        products_grad_TT = shares_TT * (shares_grad_TT - mean_T[:, None]) * scale
        products_grad_TT = products_grad_TT.to(number_type)
        query_grad_TK = tl.dot(products_grad_TT, key_TK, input_precision=precision)
        tl.store(both_grad_R3W + place, query_grad_TK.to(number_type), mask=is_token_T1)
        key_grad_TK = tl.dot(tl.trans(products_grad_TT), query_TK, input_precision=precision)
        tl.store(both_grad_R3W + place + width, key_grad_TK.to(number_type), mask=is_token_T1)


def launch(
    kernel: Any,
    both_R3W: Tensor,
    num_tokens: int,
    num_heads: int,
    bias: Tensor | None,
    *others: Tensor,
) -> None:
    """Starts one of the kernels for all heads of all positions. Rows lie one after the other."""
    num_rows, width = both_R3W.shape[0], both_R3W.shape[1] // 3
    bias_kind = "none" if bias is None else "alike" if bias.numel() == num_rows else "each"
    heads_per_program = HEADS_PER_PROGRAM if num_heads % HEADS_PER_PROGRAM == 0 else 1
    kernel[(num_rows // num_tokens, num_heads // heads_per_program)](
        both_R3W,
        None if bias is None else bias.contiguous(),
        *others,
        num_tokens,
        (width // num_heads) ** -0.5,
        bias_kind=bias_kind,
        num_heads=num_heads,
        head_width=width // num_heads,
        tokens_filled=max(LEAST_TOKENS, 1 << (num_tokens - 1).bit_length()),
        heads_per_program=heads_per_program,
        precision="ieee" if torch.get_float32_matmul_precision() == "highest" else "tf32",
        num_warps=1,
    )


# What the compiler sees of the kernels is this: compiled along with the rest the first was slower.
@torch.library.custom_op("zerofleet::attend", mutates_args=())
def attend_op(both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None) -> Tensor:
    mixed_RW = both_R3W.new_empty(both_R3W.shape[0], both_R3W.shape[1] // 3)
    launch(attend_kernel, both_R3W, num_tokens, num_heads, bias, mixed_RW)
    return mixed_RW


@attend_op.register_fake
def _(both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None) -> Tensor:
    return both_R3W.new_empty(both_R3W.shape[0], both_R3W.shape[1] // 3)


@torch.library.custom_op("zerofleet::attend_back", mutates_args=())
def attend_back_op(
    mixed_grad_RW: Tensor, both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None
) -> Tensor:
    both_grad_R3W = torch.empty_like(both_R3W)
    mixed_grad_RW = mixed_grad_RW.contiguous()
    launch(attend_back_kernel, both_R3W, num_tokens, num_heads, bias, mixed_grad_RW, both_grad_R3W)
    return both_grad_R3W


@attend_back_op.register_fake
def _(
    mixed_grad_RW: Tensor, both_R3W: Tensor, num_tokens: int, num_heads: int, bias: Tensor | None
) -> Tensor:
    return torch.empty_like(both_R3W)


def keep_for_gradients(ctx: Any, inputs: tuple[Any, ...], output: Tensor) -> None:
    both_R3W, ctx.num_tokens, ctx.num_heads, bias = inputs
    ctx.save_for_backward(both_R3W, bias)


def gradients(ctx: Any, mixed_grad_RW: Tensor) -> tuple[Tensor, None, None, None]:
    both_R3W, bias = ctx.saved_tensors
    both_grad_R3W = attend_back_op(mixed_grad_RW, both_R3W, ctx.num_tokens, ctx.num_heads, bias)
    return both_grad_R3W, None, None, None


attend_op.register_autograd(gradients, setup_context=keep_for_gradients)


def attend_by_kernel(
    both_R3W: Tensor, num_tokens: int, num_heads: int, bias_B1TT: Tensor | None
) -> Tensor:
    """The same as `attend_by_matmul`. The bias gets no gradient: it is made of masks."""
    mixed_RW: Tensor = attend_op(both_R3W.contiguous(), num_tokens, num_heads, bias_B1TT)
    return mixed_RW


def can_fuse(head_width: int) -> bool:
    """Whether the kernels take heads of this width: a power of two that tensor cores multiply."""
    is_power_of_two = head_width & (head_width - 1) == 0
    return LEAST_TOKENS <= head_width <= MOST_HEAD_WIDTH and is_power_of_two
