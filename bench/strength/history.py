"""The versions of weights that a run kept, and their place in the run."""

import numpy as np

from zerofleet import metrics
from zerofleet.errors import Inconsistent
from zerofleet.report.data import with_progress
from zerofleet.weights import WeightsStore


class History:
    def __init__(self, run):
        self.steps = WeightsStore(run.weights).versions()
        """Steps of the kept weights, ascending."""
        if not self.steps or self.steps[-1] == 0:
            raise Inconsistent(f"run {run.name} has no trained weights yet")
        statuses = [each for each in metrics.read(run.folder) if each["kind"] == "status"]
        records = with_progress(statuses)
        self._steps = [record["step"] for record in records]
        self._minutes = [record["trained_s"] / 60 for record in records]
        self._games = [record["run_games"] for record in records]

    def minutes(self, step):
        """Minutes of training until a step."""
        return float(np.interp(step, self._steps, self._minutes)) if step else 0.0

    def place(self, step):
        """Minutes and games of the run at a step."""
        games = int(np.interp(step, self._steps, self._games)) if step else 0
        return {"minutes": round(self.minutes(step), 2), "run_games": games}

    def half_time_step(self):
        """The kept step nearest to half the training time; None if none is near."""
        whole = self.minutes(self.steps[-1])
        near = [step for step in self.steps if whole / 3 <= self.minutes(step) <= whole * 2 / 3]
        return min(near, key=lambda step: abs(self.minutes(step) - whole / 2), default=None)
