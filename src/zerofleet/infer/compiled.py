"""Compiles what a GPU computes; the kernels are kept for later starts."""

import os
from collections.abc import Callable

import torch
from torch import Tensor

from zerofleet.cache import cache_folder

Answer = Callable[[Tensor], tuple[Tensor, Tensor]]

MAX_KINDS = 256
"""Networks and batch sizes that one process may compile."""


def compiled(answer: Answer) -> Answer:
    """The same answers, compiled when they are first asked for with a batch of some size.

    That takes 6 to 26 s for a size, and less where the kernels are in $ZEROFLEET_CACHE already.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "kernels"))
    torch._dynamo.config.recompile_limit = MAX_KINDS
    return torch.compile(answer, fullgraph=True, dynamic=False)
