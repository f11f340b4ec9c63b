"""Draws training samples from a window.

Samples are uniform over positions, not games, so long games weigh more, and each is seen through a
random symmetry of the game. The same window and the same state of the sampler give the same batch.

Shapes: B samples, N bytes of an observation, A actions, O outcomes of the game, S symmetries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from zerofleet.config import ReplayConfig
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.replay.window import OUTCOME_UNIT, Window

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True)
class Batch:
    """Samples to train on. Everything about a sample is in the view of its observer."""

    observations_BN: NDArray[np.uint8]
    legal_BA: NDArray[np.float32]
    """1 or 0; zeros where there is no policy."""
    policy_BA: NDArray[np.float32]
    """Adds up to 1; zeros where there is no policy."""
    has_policy_B: NDArray[np.float32]
    """1, or 0 for a sample that trains the value only."""
    outcome_target_BO: NDArray[np.float32]
    """How the game ended, mixed with what the search found. Adds up to 1."""
    reply_B: NDArray[np.int64]
    """The other player's next action, or -1."""
    final_observation_BN: NDArray[np.uint8]
    """What the observer saw when the game was over."""
    surprise_B: NDArray[np.float32]
    """Divergence of the policy from the priors; 0 where there is no policy."""


class Sampler:
    def __init__(self, window: Window, game: Game, config: ReplayConfig, seed: int) -> None:
        self._window = window
        self._search_share = np.float32(config.value_target_search_share)
        self._surprise_share = config.surprise_share
        self._num_actions = game.num_actions
        self._one_hot_OO = np.eye(len(game.outcomes), dtype=np.float32)
        # Action a becomes new_action_SA[s, a]; what was action old_action_SA[s, a] is a then.
        self._new_action_SA = np.array([action_A for action_A, _ in game.symmetries], np.int64)
        self._old_action_SA = np.argsort(self._new_action_SA, axis=1)
        self._old_byte_SN = np.argsort([byte_N for _, byte_N in game.symmetries], axis=1)
        self._rng = np.random.Generator(np.random.PCG64(seed))

    @property
    def state(self) -> dict[str, Any]:
        """Of the generator, to go on from; can be written as JSON."""
        return dict(self._rng.bit_generator.state)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Goes on from what `state` gave."""
        try:
            self._rng.bit_generator.state = state
        except (KeyError, TypeError, ValueError) as error:
            raise BadText(f"not the state of a sampler: {error!r}") from error

    def sample(self, batch_size: int) -> Batch:
        """So many samples, each drawn by itself."""
        if len(self._window) == 0:
            raise Inconsistent("the window is empty; there is nothing to sample yet")
        rows_B, final_BN = self._window.take(self._draw(batch_size))
        symmetry_B = self._rng.integers(len(self._new_action_SA), size=batch_size)
        legal_BA = np.unpackbits(rows_B["legal_bits"], axis=1, count=self._num_actions)
        policy_BA = relabelled(rows_B["policy"], self._old_action_SA, symmetry_B)
        policy_BA = policy_BA.astype(np.float32)
        policy_BA /= np.maximum(policy_BA.sum(axis=1, keepdims=True), 1)
        reply_B = rows_B["reply"].astype(np.int64)
        return Batch(
            observations_BN=relabelled(rows_B["observation"], self._old_byte_SN, symmetry_B),
            legal_BA=relabelled(legal_BA, self._old_action_SA, symmetry_B).astype(np.float32),
            policy_BA=policy_BA,
            has_policy_B=rows_B["has_policy"].astype(np.float32),
            outcome_target_BO=self._outcome_targets(rows_B),
            reply_B=np.where(reply_B < 0, -1, self._new_action_SA[symmetry_B, reply_B]),
            final_observation_BN=relabelled(final_BN, self._old_byte_SN, symmetry_B),
            surprise_B=np.ascontiguousarray(rows_B["surprise"]),
        )

    def _draw(self, batch_size: int) -> NDArray[np.int64]:
        """Slots of the window: uniform, or for policies in part by surprise."""
        slots_B = self._window.slots(self._rng.integers(len(self._window), size=batch_size))
        if self._surprise_share == 0:
            return slots_B
        by_surprise_B = self._window.rows_C["has_policy"][slots_B]
        by_surprise_B &= self._rng.random(batch_size) < self._surprise_share
        up_to_C = np.cumsum(self._window.rows_C["surprise"], dtype=np.float64)
        if up_to_C[-1] > 0:
            drawn = self._rng.random(np.count_nonzero(by_surprise_B)) * up_to_C[-1]
            slots_B[by_surprise_B] = np.searchsorted(up_to_C, drawn, side="right")
        return slots_B

    def _outcome_targets(self, rows_B: NDArray[np.void]) -> NDArray[np.float32]:
        target_BO: NDArray[np.float32] = self._one_hot_OO[rows_B["outcome"]]
        search_BO = rows_B["search_outcomes"].astype(np.float32) / np.float32(OUTCOME_UNIT)
        share_B1 = self._search_share * search_BO.any(axis=1, keepdims=True)
        target_BO += share_B1 * (search_BO - target_BO)
        return target_BO


def relabelled(
    values_BX: NDArray[Number], old_SX: NDArray[np.int64], symmetry_B: NDArray[np.int64]
) -> NDArray[Number]:
    """A contiguous copy in which x has, row by row, what old_SX[symmetry, x] had."""
    if len(old_SX) == 1:
        return np.ascontiguousarray(values_BX)
    relabelled_BX = np.empty_like(values_BX, order="C")
    for symmetry, old_X in enumerate(old_SX):
        chosen = np.flatnonzero(symmetry_B == symmetry)
        relabelled_BX[chosen] = values_BX[chosen][:, old_X]
    return relabelled_BX
