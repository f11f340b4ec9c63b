"""Torch as a process that trains has it."""

import torch

from zerofleet.training import set_up_torch


def test_float32_is_multiplied_as_tf32_on_gpus_and_exactly_on_cpus(exact_matmul):
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    set_up_torch(seed=1, num_threads=torch.get_num_threads(), deterministic=False)
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
    assert torch.get_float32_matmul_precision() == "high"  # what kernels of our own ask for
