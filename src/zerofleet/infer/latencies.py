"""Percentiles of recent durations."""

from collections import deque

import numpy as np

NUM_RECENT = 4096


class Latencies:
    """The last durations, oldest dropped. One thread adds; any may read."""

    def __init__(self) -> None:
        self._recent_s: deque[float] = deque(maxlen=NUM_RECENT)

    def add(self, seconds: float) -> None:
        self._recent_s.append(seconds)

    def percentiles(self) -> dict[str, float]:
        """p50, p95 and p99 in seconds; empty before the first."""
        recent_s = list(self._recent_s)
        if not recent_s:
            return {}
        found = np.percentile(recent_s, (50, 95, 99))
        return dict(zip(("p50", "p95", "p99"), map(float, found), strict=True))
