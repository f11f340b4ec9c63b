"""The attention kernels equal attention by matmul, forward and backward.

With Triton and no GPU, TRITON_INTERPRET=1 runs the kernels on a CPU.
"""

import os

import pytest
import torch

from zerofleet.nets.layers import FORBIDDEN, Attention, attend_by_matmul, fuse_attention

pytest.importorskip("triton")

IS_INTERPRETED = os.environ.get("TRITON_INTERPRET") == "1"
DEVICE = torch.device("cpu" if IS_INTERPRETED else "cuda")
NUM_POSITIONS = 3

pytestmark = [
    pytest.mark.skipif(
        not IS_INTERPRETED and not torch.cuda.is_available(), reason="there is no CUDA GPU here"
    ),
    pytest.mark.usefixtures("exact_matmul"),
]


def drawn_bias(kind, num_tokens):
    """Masks and other numbers; each token may attend to the first."""
    if kind == "none":
        return None
    num_looking = 1 if kind == "shared" else num_tokens
    bias = torch.randn(NUM_POSITIONS, 1, num_looking, num_tokens)
    bias = torch.where(bias > 0.5, FORBIDDEN, bias)
    bias[..., 0] = 0.5
    return bias.to(DEVICE)


def attended_and_gradient(attend, qkv_R3W, attended_grad_RW, num_tokens, num_heads, bias):
    qkv_R3W = qkv_R3W.detach().requires_grad_()
    attended_RW = attend(qkv_R3W, num_tokens, num_heads, bias)
    (qkv_grad_R3W,) = torch.autograd.grad(
        attended_RW, qkv_R3W, attended_grad_RW.to(attended_RW.dtype)
    )
    return attended_RW.detach(), qkv_grad_R3W


TOLERANCES = {"float32": 1e-5, "float16": 7e-4, "bfloat16": 5e-3}
"""Largest relative error (norm) of each dtype."""


@pytest.mark.parametrize("dtype", TOLERANCES)
@pytest.mark.parametrize("bias_kind", ["none", "shared", "per_query"])
@pytest.mark.parametrize("num_heads", [1, 2, 8])
@pytest.mark.parametrize("num_tokens", [4, 8, 12, 17, 24])
def test_kernels_give_what_matmul_gives(num_tokens, num_heads, bias_kind, dtype):
    compare_with_matmul(num_tokens, num_heads, bias_kind, dtype, head_width=32)


@pytest.mark.parametrize("head_width", [16, 64, 128])
def test_kernels_take_heads_of_other_widths(head_width):
    compare_with_matmul(24, 2, "shared", "float32", head_width)


def compare_with_matmul(num_tokens, num_heads, bias_kind, dtype, head_width):
    if IS_INTERPRETED and dtype == "bfloat16":
        pytest.skip("Triton's interpreter multiplies bfloat16 as if it were whole numbers")
    from zerofleet.nets.small_attention import attend_by_kernel

    torch.manual_seed(1)
    width = head_width * num_heads
    kind = {"device": DEVICE, "dtype": getattr(torch, dtype)}
    qkv_R3W = torch.randn(NUM_POSITIONS * num_tokens, 3 * width, **kind)
    rest = (
        torch.randn(NUM_POSITIONS * num_tokens, width, **kind),
        num_tokens,
        num_heads,
        drawn_bias(bias_kind, num_tokens),
    )
    wanted = attended_and_gradient(attend_by_matmul, qkv_R3W.double(), *rest)
    found = attended_and_gradient(attend_by_kernel, qkv_R3W, *rest)
    for got, one in zip(found, wanted, strict=True):
        assert got.dtype == qkv_R3W.dtype
        assert (got - one).norm() <= TOLERANCES[dtype] * one.norm()


def test_a_token_whose_mask_is_empty_attends_to_all():
    from zerofleet.nets.small_attention import attend_by_kernel

    torch.manual_seed(1)
    qkv_R3W = torch.randn(NUM_POSITIONS * 24, 3 * 64, device=DEVICE)
    attended_grad_RW = torch.randn(NUM_POSITIONS * 24, 64, device=DEVICE)
    nothing = torch.full((NUM_POSITIONS, 1, 1, 24), FORBIDDEN, device=DEVICE)
    wanted, found = (
        attended_and_gradient(attend_by_kernel, qkv_R3W, attended_grad_RW, 24, 2, bias)
        for bias in (None, nothing)
    )
    for got, one in zip(found, wanted, strict=True):
        # Adding so large a bias rounds a thousandth of a logit away.
        assert (got - one).norm() <= 2e-3 * one.norm()


def test_a_gradient_that_is_spread_out_in_memory_is_read_right():
    from zerofleet.nets.small_attention import attend_by_kernel

    torch.manual_seed(1)
    qkv_R3W = torch.randn(NUM_POSITIONS * 8, 3 * 64, device=DEVICE)
    attended_grad_RW = torch.randn(64, NUM_POSITIONS * 8, device=DEVICE).t()
    wanted, got = (
        attended_and_gradient(attend, qkv_R3W, attended_grad_RW, 8, 2, None)[1]
        for attend in (attend_by_matmul, attend_by_kernel)
    )
    torch.testing.assert_close(got, wanted, atol=1e-5, rtol=1e-5)


def test_torch_finds_no_fault_with_the_operations():
    from zerofleet.nets.small_attention import attend_op

    torch.manual_seed(1)
    qkv_R3W = torch.randn(2 * 8, 3 * 32, device=DEVICE, requires_grad=True)
    bias = torch.randn(2, 1, 8, 8, device=DEVICE)
    for each in (bias, None):
        torch.library.opcheck(attend_op, (qkv_R3W, 8, 1, each))


def test_only_heads_that_the_kernels_take_are_given_to_them():
    from zerofleet.nets.small_attention import attend_by_kernel

    taken = Attention(64, 2, 0)
    others = [Attention(width, 2, 0) for width in (16, 48, 512)]
    fuse_attention(torch.nn.ModuleList([taken, *others]))
    assert taken.attend is attend_by_kernel
    assert all(other.attend is attend_by_matmul for other in others)
    assert list(taken.state_dict()) == list(Attention(64, 2, 0).state_dict())
