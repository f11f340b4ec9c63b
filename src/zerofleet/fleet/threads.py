"""How one machine's threads are shared among search, inference and training."""

import os
from dataclasses import dataclass

from zerofleet.config import RunConfig


@dataclass(frozen=True)
class ThreadPlan:
    """On a CPU each worker searches and evaluates in one thread, by turns: both want the processor,
    so nothing is gained by doing them at once. With a GPU one worker moves batches, and `search`
    threads keep it fed."""

    num_workers: int
    search: int
    """Threads of each worker's driver; 0: it searches in its own."""
    training: int

    def __str__(self) -> str:
        if self.search == 0:
            players = f"{self.num_workers} for search and inference"
        else:
            players = f"{self.search} for search, {self.num_workers} for inference"
        return f"threads: {players}, {self.training} for training"


def plan_threads(settings: RunConfig, device: str, game_in_python: bool = False) -> ThreadPlan:
    """A game written in Python is searched by the thread that moves its batches."""
    total = settings.num_threads or len(os.sched_getaffinity(0))
    if device == "cpu":
        playing = settings.inference_threads or max(1, total - max(1, total // 4))
        return ThreadPlan(playing, 0, max(1, total - playing))
    return ThreadPlan(1, 0 if game_in_python else max(1, total - 2), 1)
