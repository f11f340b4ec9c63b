"""Progress of a run towards its stop conditions."""

import time

from zerofleet.config import Config
from zerofleet.training import TrainingLoop


class StopConditions:
    """Progress of a run towards the first of its stop conditions."""

    def __init__(self, config: Config, loop: TrainingLoop, started_s: float) -> None:
        self._settings = config.stop
        self._loop = loop
        self._started_s = started_s

    def progress(self) -> float:
        """From 0 to 1; always 0 for a run without a stop condition."""
        minutes = self._settings.minutes
        by_clock = (time.monotonic() - self._started_s) / 60 / minutes if minutes else 0.0
        return max(by_clock, self.progress_without_clock())

    def progress_without_clock(self) -> float:
        return max((reached / end for _, end, reached in self._ends()), default=0.0)

    def reached_text(self) -> str:
        return "".join(
            f"; reached stop.{name} {end:,}"
            for name, end, reached in self._ends()
            if reached >= end
        )

    def _ends(self) -> list[tuple[str, int, int]]:
        """Each condition: its name, its value, and what the run has reached."""
        stop, position = self._settings, self._loop.replay.log.position
        ends = (
            ("steps", stop.steps, self._loop.step_count),
            ("games", stop.games, position.num_episodes),
            ("rows", stop.rows, position.num_rows),
        )
        return [(name, end, reached) for name, end, reached in ends if end]
