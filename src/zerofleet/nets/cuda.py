"""How zerofleet computes on CUDA GPUs, in inference and in training: TF32, compiled, from graphs.

torch.compile keeps its kernels in the cache folder, so that later starts are quick.
"""

import os
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ParamSpec, TypeVar

import torch

from zerofleet.storage import cache_folder

Given = ParamSpec("Given")
Answer = TypeVar("Answer")

MAX_RECOMPILES = 256
"""Networks and batch sizes that one process may compile."""

CAPTURE_LOCK = threading.RLock()
"""Held while a graph is captured: torch synchronises the whole device first, which would break a
capture in another thread."""


def use_tf32() -> None:
    """Computes float32 matmuls in TF32 from now on, in this process. CPUs stay exact."""
    torch.backends.cuda.matmul.allow_tf32 = True


def compiled(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The same function, compiled at its first call with each batch size.

    That takes 6 to 60 s per size, and less where $ZEROFLEET_CACHE has the kernels already.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "kernels"))
    # About a kernel that the compiler did not choose: no user can act on it.
    warnings.filterwarnings("ignore", r"\s*Online softmax is disabled")
    torch._dynamo.config.recompile_limit = MAX_RECOMPILES
    return torch.compile(function, fullgraph=True, dynamic=False)


def blocking_event(timed: bool = False) -> torch.cuda.Event:
    """An event whose waiter sleeps, and so frees its core and the GIL."""
    return torch.cuda.Event(  # type: ignore[no-untyped-call]
        enable_timing=timed, blocking=True
    )


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream) -> Iterator[None]:
    """Captures the GPU work of the block into the graph instead of running it.

    Other threads may use the GPU meanwhile; one capture runs at a time.
    """
    with (
        CAPTURE_LOCK,
        torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
    ):
        yield
