"""Callbacks of zf.train.

They run in the training thread, between steps. An exception ends the run: it writes a checkpoint,
then zf.train raises the exception again.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zerofleet.bus import Bus
from zerofleet.runs.folder import Run

if TYPE_CHECKING:
    from zerofleet.infer import Evaluator
    from zerofleet.training import StepReport, TrainingLoop


@dataclass(frozen=True)
class StepInfo:
    """One training step: the trainer's StepReport, with the run's counters."""

    step: int
    """Counts from 1 over the whole run."""
    learning_rate: float
    grad_norm: float
    """Before clipping."""
    values: dict[str, float]
    """Means over the batch: loss, loss/policy, loss/outcome, loss/<auxiliary head or custom term>,
    policy_entropy, …"""
    num_samples: int
    """Samples trained over the whole run."""
    num_games: int
    """Games played over the whole run."""


@dataclass(frozen=True)
class VersionInfo:
    """One version of the weights, as published to self-play."""

    version: int
    step: int
    """The training step that produced it."""
    evaluator: "Evaluator"
    """Holds these weights until the next version; for zf.search, zf.selfplay and zf.arena."""
    run: Run
    """Its `folder` holds checkpoints, weights and games."""


OnStep = Callable[[StepInfo], bool | None]
"""Called after each step. Returning False ends the run as if it had reached its stop."""

OnVersion = Callable[[VersionInfo], object]
"""Called after each publication of weights."""


@dataclass(frozen=True)
class Callbacks:
    """The user's callbacks; None where there is none."""

    on_step: OnStep | None = None
    on_version: OnVersion | None = None


NO_CALLBACKS = Callbacks()


class ForSeconds:
    """An OnStep that ends a run so many seconds after its first step, however long the replay
    buffer took to fill: for measurements of throughput."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._end_s: float | None = None
        self.is_over = False

    def __call__(self, info: StepInfo) -> bool:
        now_s = time.monotonic()
        if self._end_s is None:
            self._end_s = now_s + self._seconds
        self.is_over = now_s >= self._end_s
        return not self.is_over


class CallbackRaised(Exception):
    """Wraps an exception of a callback, to tell it from errors of the run."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def step_callback(
    on_step: OnStep, loop: "TrainingLoop", bus: Bus
) -> Callable[["StepReport"], None]:
    """The trainer's hook after each step; stops the run if `on_step` returns False."""

    def call(report: "StepReport") -> None:
        info = StepInfo(
            report.step,
            report.learning_rate,
            report.grad_norm,
            report.values,
            loop.replay.limiter.state.num_samples,
            loop.replay.log.position.num_episodes,
        )
        try:
            if on_step(info) is False:
                bus.stop()
        except Exception as error:
            raise CallbackRaised(error) from error

    return call


def version_callback(
    on_version: OnVersion, evaluator: "Evaluator", run: Run
) -> Callable[[int, dict[str, Any]], None]:
    """The trainer's hook after each publication."""

    def call(version: int, weights: dict[str, Any]) -> None:
        evaluator.load(weights, version)
        try:
            on_version(VersionInfo(version, version, evaluator, run))
        except Exception as error:
            raise CallbackRaised(error) from error

    return call
