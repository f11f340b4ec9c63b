"""Evaluators: those of the core by name, and Python callables with validated answers.

Shapes: B leaves in a batch, N bytes of an observation, A actions, O outcomes of the game.
"""

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import Game
from zerofleet.errors import BadText

CoreEvaluatorName = Literal["uniform", "hash", "playout"]
"""Evaluators of the core. uniform: uniform policy, value 0. hash: arithmetic on a hash, for tests.
playout: one random playout."""

Observations = NDArray[np.uint8]
Rows = NDArray[np.float32]

Evaluate = Callable[[Observations], tuple[Rows, Rows]]
"""uint8 [B, N] to (policy logits float32 [B, A], outcome probabilities float32 [B, O]).

Only the logits of legal actions are read. Outcomes are in the view of the row's observer.
"""

PROBABILITY_TOLERANCE = 1e-3


def evaluate_checked(
    evaluate: Evaluate, game: Game, observations_BN: Observations
) -> tuple[Rows, Rows]:
    """The validated evaluations of `evaluate`, as contiguous arrays."""
    answer = evaluate(observations_BN)
    if not isinstance(answer, tuple) or len(answer) != 2:
        raise BadText(f"evaluator must return (policy_logits, outcomes), got {described(answer)}")
    policy_logits, outcomes = answer
    num_leaves = len(observations_BN)
    logits_BA = checked_rows("policy_logits", policy_logits, (num_leaves, game.num_actions))
    outcomes_BO = checked_rows("outcomes", outcomes, (num_leaves, len(game.outcomes)))
    off_B = np.abs(outcomes_BO.sum(axis=1) - 1)
    good_B = (off_B <= PROBABILITY_TOLERANCE) & (outcomes_BO.min(axis=1) >= 0)
    if not good_B.all():
        row = int(np.argmin(good_B))
        raise BadText(
            f"evaluator: outcomes row {row} must be probabilities that sum to 1, "
            f"got {outcomes_BO[row].tolist()}"
        )
    return logits_BA, outcomes_BO


def checked_rows(name: str, rows: object, shape: tuple[int, int]) -> Rows:
    if not isinstance(rows, np.ndarray) or rows.dtype != np.float32 or rows.shape != shape:
        raise BadText(
            f"evaluator: {name} must be a numpy array float32 {list(shape)}, got {described(rows)}"
        )
    return np.ascontiguousarray(rows)


def described(value: object) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {list(value.shape)}"
    if isinstance(value, tuple):
        return f"a tuple of {len(value)}"
    return type(value).__name__
