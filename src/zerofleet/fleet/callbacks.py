"""What zf.train reports to its caller while a run trains.

Callbacks are called in the thread that trains, between steps. What one raises ends the run: a
checkpoint is written, then zf.train raises it again.
"""

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
    """One training step."""

    step: int
    """Its number, counted from 1 over the whole run."""
    learning_rate: float
    grad_norm: float
    """Before it was clipped."""
    values: dict[str, float]
    """Means over the batch: loss, loss/policy, loss/outcome, loss/<auxiliary head or custom term>,
    policy_entropy and so on."""
    num_samples: int
    """Samples trained in the whole run."""
    num_games: int
    """Games played in the whole run."""


@dataclass(frozen=True)
class VersionInfo:
    """One version of the weights, as it was given to self-play."""

    version: int
    step: int
    """The training step that it was made by."""
    evaluator: "Evaluator"
    """With these weights, until the next version: for zf.search, zf.selfplay and zf.arena."""
    run: Run
    """Its `folder` is where checkpoints, weights and games are."""


OnStep = Callable[[StepInfo], bool | None]
"""Called after each step. False ends the run as one that has reached its stop."""

OnVersion = Callable[[VersionInfo], object]
"""Called after each publication of weights."""


@dataclass(frozen=True)
class Callbacks:
    """Those that there are."""

    on_step: OnStep | None = None
    on_version: OnVersion | None = None


NO_CALLBACKS = Callbacks()


class CallbackRaised(Exception):
    """Holds what a callback has raised, apart from errors of the run itself."""

    def __init__(self, error: Exception) -> None:
        super().__init__(error)
        self.error = error


def step_callback(
    on_step: OnStep, loop: "TrainingLoop", bus: Bus
) -> Callable[["StepReport"], None]:
    """What the trainer calls after each step; False of the user's callback stops the run."""

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
    """What the trainer calls after each publication."""

    def call(version: int, weights: dict[str, Any]) -> None:
        evaluator.load(weights, version)
        try:
            on_version(VersionInfo(version, version, evaluator, run))
        except Exception as error:
            raise CallbackRaised(error) from error

    return call
