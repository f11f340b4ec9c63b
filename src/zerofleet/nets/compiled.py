"""What a GPU is to compute, compiled and captured; the kernels are kept for later starts."""

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

MAX_KINDS = 256
"""Networks and batch sizes that one process may compile."""

ONE_AT_A_TIME = threading.RLock()
"""Held while a graph is captured: before that torch waits for the whole device, which would break a
capture of another thread."""


def compiled(function: Callable[Given, Answer]) -> Callable[Given, Answer]:
    """The same answers, compiled when they are first asked for with a batch of some size.

    That takes 6 to 60 s for a size, and less where the kernels are in $ZEROFLEET_CACHE already.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(cache_folder() / "kernels"))
    # Of a kernel that the compiler did not choose: nobody can do anything about it.
    warnings.filterwarnings("ignore", r"\s*Online softmax is disabled")
    torch._dynamo.config.recompile_limit = MAX_KINDS
    return torch.compile(function, fullgraph=True, dynamic=False)


def waited_event(timed: bool = False) -> torch.cuda.Event:
    """Whoever waits for it leaves the core, and Python, to others meanwhile."""
    return torch.cuda.Event(  # type: ignore[no-untyped-call]
        enable_timing=timed, blocking=True
    )


@contextmanager
def capturing(graph: torch.cuda.CUDAGraph, stream: torch.cuda.Stream) -> Iterator[None]:
    """What is asked of a GPU within is not done, but becomes the graph.

    Other threads may use the GPU meanwhile, but no two may capture.
    """
    with (
        ONE_AT_A_TIME,
        torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"),
    ):
        yield
