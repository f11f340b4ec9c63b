"""Torch as a whole process has it: threads, seed, determinism, precision."""

import torch

from zerofleet.nets.cuda import use_tf32


def set_up_torch(seed: int, num_threads: int, deterministic: bool) -> None:
    """Call before a network is built. Deterministic: the same numbers every time, more slowly."""
    torch.set_num_threads(num_threads)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(deterministic)
    use_tf32()
