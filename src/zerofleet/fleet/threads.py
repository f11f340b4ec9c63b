"""How one machine's threads are shared among search, inference and training."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from zerofleet.config import RunConfig

TURN_S = 0.0005


@contextmanager
def quick_turns() -> Iterator[None]:
    """Python's threads take shorter turns within.

    The thread that moves batches wants little time but wants it at once: after a turn of the usual
    5 ms of the trainer's thread a GPU has run dry.
    """
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(TURN_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)


@dataclass(frozen=True)
class ThreadPlan:
    """On a CPU each worker searches and evaluates in one thread, by turns: both want the processor,
    so nothing is gained by doing them at once. With GPUs one worker for each moves batches, and
    `search` threads keep it fed."""

    num_workers: int
    search: int
    """Threads of each worker's driver; 0: it searches in its own."""
    training: int
    """Threads of each process that trains."""

    @property
    def num_groups(self) -> int:
        """Groups of games that suit each worker: with a GPU one for each thread that searches,
        three that are evaluated, and two that wait for either."""
        return self.search + 5 if self.search else 2

    def __str__(self) -> str:
        if self.search == 0:
            players = f"{self.num_workers} for search and inference"
        else:
            search = self.num_workers * self.search
            players = f"{search} for search, {self.num_workers} for inference"
        return f"threads: {players}, {self.training} for training"


def plan_threads(
    settings: RunConfig,
    device: str,
    game_in_python: bool = False,
    num_inference: int = 1,
    num_training: int = 1,
) -> ThreadPlan:
    """For workers on so many devices of a kind, and so many processes that train.

    A game written in Python is searched by the thread that moves its batches.
    """
    total = settings.num_threads or len(os.sched_getaffinity(0))
    if device == "cpu":
        playing = settings.inference_threads or max(1, total - max(1, total // 4))
        return ThreadPlan(playing, 0, max(1, (total - playing) // num_training))
    search = max(1, (total - num_inference - num_training) // num_inference)
    return ThreadPlan(num_inference, 0 if game_in_python else search, 1)
