"""How exactly CUDA GPUs multiply what is in float32, wherever zerofleet computes on them."""

import torch


def use_tf32() -> None:
    """Products of float32 matrices in TF32, by this process from now on. CPUs stay exact."""
    torch.backends.cuda.matmul.allow_tf32 = True
