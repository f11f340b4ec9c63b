"""Draws training samples from a buffer.

Samples are uniform over positions, not games, so long games weigh more, and each is to be seen
through a random symmetry of the game. The same buffer and the same state of the sampler give the
same batch. Rows stay as compact as the buffer keeps them; training unpacks them on its device.

Shapes: B samples, N bytes of an observation, A actions, S symmetries.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerofleet.config import ReplayConfig
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game
from zerofleet.replay.buffer import ReplayBuffer, row_type


@dataclass(frozen=True, eq=False)
class RowFormat:
    """How the rows of batches are read: where their fields are, and what they mean."""

    row_type: np.dtype[np.void]
    num_actions: int
    num_outcomes: int
    search_share: float
    """Of what the search found in the value target; the rest is how the game ended."""
    new_action_SA: NDArray[np.int64]
    """What an action becomes through a symmetry."""
    old_action_SA: NDArray[np.int64]
    """The action that becomes this one."""
    old_byte_SN: NDArray[np.int64]
    """The same for the bytes of an observation."""

    @classmethod
    def of(cls, game: Game, search_share: float) -> "RowFormat":
        new_action_SA = np.array([action_A for action_A, _ in game.symmetries], np.int64)
        return cls(
            row_type=row_type(game),
            num_actions=game.num_actions,
            num_outcomes=len(game.outcomes),
            search_share=search_share,
            new_action_SA=new_action_SA,
            old_action_SA=np.argsort(new_action_SA, axis=1),
            old_byte_SN=np.argsort([byte_N for _, byte_N in game.symmetries], axis=1),
        )


@dataclass(frozen=True)
class Batch:
    """Samples to train on. Everything about a sample is in the view of its observer."""

    rows_B: NDArray[np.void]
    """As the buffer has them; the fields are those of `row_type`."""
    final_observation_BN: NDArray[np.uint8]
    """What the observer saw when the game was over."""
    symmetry_B: NDArray[np.int64]
    """Through which the sample is to be seen."""
    format: RowFormat

    def __len__(self) -> int:
        return len(self.rows_B)


class Sampler:
    """Draws batches from a buffer, each row under a random symmetry of the game."""

    def __init__(self, buffer: ReplayBuffer, game: Game, config: ReplayConfig, seed: int) -> None:
        self._buffer = buffer
        self._policy_surprise_weight = config.policy_surprise_weight
        self._format = RowFormat.of(game, config.value_target_q_ratio)
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

    def blank(self, batch_size: int) -> Batch:
        """A batch like those of `sample`, with nothing in it."""
        num_bytes = self._format.old_byte_SN.shape[1]
        return Batch(
            rows_B=np.zeros(batch_size, self._format.row_type),
            final_observation_BN=np.zeros((batch_size, num_bytes), np.uint8),
            symmetry_B=np.zeros(batch_size, np.int64),
            format=self._format,
        )

    def sample(self, batch_size: int) -> Batch:
        """So many samples, each drawn by itself."""
        if len(self._buffer) == 0:
            raise Inconsistent("the buffer is empty; there is nothing to sample yet")
        rows_B, final_BN = self._buffer.take(self._draw(batch_size))
        symmetry_B = self._rng.integers(len(self._format.new_action_SA), size=batch_size)
        return Batch(rows_B, final_BN, symmetry_B, self._format)

    def _draw(self, batch_size: int) -> NDArray[np.int64]:
        """Slots of the buffer: uniform, or for policies in part by surprise."""
        slots_B = self._buffer.slots(self._rng.integers(len(self._buffer), size=batch_size))
        if self._policy_surprise_weight == 0:
            return slots_B
        by_surprise_B = self._buffer.rows_C["has_policy"][slots_B]
        by_surprise_B &= self._rng.random(batch_size) < self._policy_surprise_weight
        up_to_C = np.cumsum(self._buffer.rows_C["surprise"], dtype=np.float64)
        if up_to_C[-1] > 0:
            drawn = self._rng.random(np.count_nonzero(by_surprise_B)) * up_to_C[-1]
            slots_B[by_surprise_B] = np.searchsorted(up_to_C, drawn, side="right")
        return slots_B
