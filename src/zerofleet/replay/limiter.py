"""The rate limiter holds the replay ratio: whoever is ahead waits (after Reverb's, 2021).

    samples due = samples_per_row * rows inserted beyond min_rows

Training never exceeds the samples due. Self-play may run ahead by 5 %, or by two of the largest
quanta where that is more (a quantum is a batch, or the rows of a game), so that neither side waits
for each single game or step of the other. Finished episodes always count; only new moves wait.
"""

import math
import threading
from dataclasses import dataclass, replace
from typing import Literal

from zerofleet.config import ReplayConfig

SLACK_SHARE = 0.05
SLACK_QUANTA = 2


@dataclass(frozen=True)
class LimiterState:
    """What a limiter resumes from, counted from the start of the run."""

    num_rows: int = 0
    num_samples: int = 0
    largest_quantum: float = 0.0
    """In samples."""


class RateLimiter:
    """Threads of both sides may report, ask and wait."""

    def __init__(self, config: ReplayConfig, state: LimiterState | None = None) -> None:
        self._samples_per_row = config.samples_per_row
        self._min_rows = config.min_rows
        self._state = state or LimiterState()
        self._batch_size = 1
        self._changed = threading.Condition()

    @property
    def state(self) -> LimiterState:
        return self._state

    def inserted(self, num_rows: int) -> None:
        """Reports a game of `num_rows` rows."""
        with self._changed:
            total = self._state.num_rows + num_rows
            self._state = replace(self._state, num_rows=total)
            self._see_quantum(num_rows * self._samples_per_row)
            self._changed.notify_all()

    def trained(self, num_samples: int) -> None:
        """Reports a training step on a batch of `num_samples`."""
        with self._changed:
            total = self._state.num_samples + num_samples
            self._state = replace(self._state, num_samples=total)
            self._changed.notify_all()

    def may_train(self, num_samples: int) -> bool:
        """Whether a batch of `num_samples` is due now."""
        return self.wait_to_train(num_samples, timeout_s=0)

    def wait_to_train(self, num_samples: int, timeout_s: float) -> bool:
        """Waits until a batch is due; False after the timeout."""
        with self._changed:
            self._batch_size = num_samples
            self._see_quantum(num_samples)
            self._changed.notify_all()
            return self._changed.wait_for(self._trainer_may, timeout_s)

    @property
    def rows_allowed(self) -> int:
        """Self-play may make new moves while no more rows than these are inserted."""
        with self._changed:
            return self._rows_allowed()

    @property
    def waiting(self) -> Literal["self-play", "trainer", "nobody"]:
        """Which side has to wait now."""
        with self._changed:
            if not self._self_play_may():
                return "self-play"
            return "nobody" if self._trainer_may() else "trainer"

    @property
    def rows_missing(self) -> int:
        """How many more rows the next batch needs; 0 where it is due now."""
        with self._changed:
            num_below_min = max(0, self._min_rows - self._state.num_rows)
            num_samples = self._batch_size - self._samples_left()
            return num_below_min + max(0, math.ceil(num_samples / self._samples_per_row))

    def _samples_left(self) -> float:
        """Samples due and not yet trained on; the first `min_rows` rows make none due."""
        counted = max(0, self._state.num_rows - self._min_rows)
        return counted * self._samples_per_row - self._state.num_samples

    def _trainer_may(self) -> bool:
        return self._samples_left() >= self._batch_size

    def _self_play_may(self) -> bool:
        return self._state.num_rows <= self._rows_allowed()

    def _rows_allowed(self) -> int:
        # Samples that rows may be due while the trainer is behind by no more than the slack. What
        # is allowed now may arrive as one more quantum, so that much is kept free. What is left, at
        # least a quantum, is enough for a batch: the two sides never both wait.
        trained, quantum = self._state.num_samples, self._state.largest_quantum
        num_samples = max(
            (trained - quantum) / (1 - SLACK_SHARE), trained + (SLACK_QUANTA - 1) * quantum
        )
        return self._min_rows + math.floor(num_samples / self._samples_per_row)

    def _see_quantum(self, num_samples: float) -> None:
        if num_samples > self._state.largest_quantum:
            self._state = replace(self._state, largest_quantum=float(num_samples))
