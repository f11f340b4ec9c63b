"""The replay buffer: the newest training rows in memory, and the batches drawn from them.

Rows are derived from an episode once, when it arrives, and lie in a ring. A row's number, counted
from the start of the run, alone decides its slot: a buffer that is refilled from the log is the
same buffer. The same buffer and the same sampler state give the same batch. Rows stay packed as the
core wrote them; training unpacks them on its device. Nothing here knows the rules.

Shapes: C capacity, B samples, R new rows, E episodes, F final observations, N bytes of an
observation, A actions, S symmetries.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import PackedRows, row_layout
from zerofleet.config import ReplayConfig
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game

MIN_EPISODES = 16


def row_dtype(game: Game) -> np.dtype[np.void]:
    """A training row as the core packs it; cpp/record/rows.h describes its fields."""
    layout = row_layout(game)
    return np.dtype(
        {
            "names": layout.names,
            "formats": layout.formats,
            "offsets": layout.offsets,
            "itemsize": layout.itemsize,
        }
    )


class ReplayBuffer:
    """The newest `capacity` rows. One thread may add while others read."""

    def __init__(self, game: Game, capacity: int, num_added: int = 0) -> None:
        """`num_added` is the number of the first row to come, where a run resumes."""
        self.capacity = capacity
        self.num_added = num_added
        """Rows ever added, counted from the start of the run."""
        self._first_number = num_added
        self._num_episodes = 0
        self.rows_C = np.zeros(capacity, row_dtype(game))
        """By slot; zeros in slots that are still empty. Read only."""
        self.is_excluded_C = np.zeros(capacity, bool)
        """By slot: rows that are not sampled any more. Read only."""
        self.num_excluded = 0
        self._num_drawn_C = np.zeros(capacity, np.uint32)
        self._final_EN = np.zeros((2 * MIN_EPISODES, game.observation_bytes), np.uint8)
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return min(self.capacity, self.num_added - self._first_number)

    @property
    def num_bytes(self) -> int:
        """Memory of a full buffer; empty slots take none until they are written."""
        by_slot = self.rows_C.nbytes + self.is_excluded_C.nbytes + self._num_drawn_C.nbytes
        return by_slot + self._final_EN.nbytes

    def add(self, packed: PackedRows) -> None:
        """Adds the rows of episodes; they overwrite the oldest rows."""
        if len(packed.rows) == 0:
            return
        new_R = packed.rows.view(self.rows_C.dtype)[:, 0]
        new_R["final"] += 2 * self._num_episodes
        with self._changing:
            self._add_finals(packed.final_observations)
            self._add_rows(new_R)

    def replace(self, first: int, packed: PackedRows) -> int:
        """Replaces the rows of one episode, of which `first` is the number of the first, where they
        are still in the buffer; returns how many. Its positions must be the same."""
        new_R = packed.rows.view(self.rows_C.dtype)[:, 0]
        with self._changing:
            numbers_R = np.arange(first, first + len(new_R))
            is_there_R = numbers_R >= self.num_added - len(self)
            new_R, slots_R = new_R[is_there_R], numbers_R[is_there_R] % self.capacity
            new_R["final"] = self.rows_C["final"][slots_R]
            new_R["surprise"][self.is_excluded_C[slots_R]] = 0
            self.rows_C[slots_R] = new_R
        return len(new_R)

    def slots(self, ages_B: NDArray[np.int64]) -> NDArray[np.int64]:
        """The slots of rows by age; the newest has age 0, the oldest len - 1."""
        return (self.num_added - 1 - ages_B) % self.capacity

    def take(self, slots_B: NDArray[np.int64]) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
        """Copies of the rows in these slots, and their observers' final observations [B, N].

        They count as drawn.
        """
        with self._changing:
            np.add.at(self._num_drawn_C, slots_B, np.uint32(1))
            rows_B = self.rows_C.take(slots_B)
            return rows_B, self._final_EN.take(rows_B["final"] % len(self._final_EN), axis=0)

    def exclude(self, numbers_R: NDArray[np.int64]) -> tuple[int, int]:
        """Stops sampling rows, by their numbers; returns how many of them were in the buffer, and
        how often those were drawn since they came into this buffer."""
        with self._changing:
            numbers_R = numbers_R[numbers_R >= self.num_added - len(self)]
            slots_R = numbers_R % self.capacity
            slots_R = slots_R[~self.is_excluded_C[slots_R]]
            self.is_excluded_C[slots_R] = True
            self.num_excluded += len(slots_R)
            self.rows_C["surprise"][slots_R] = 0  # nor by their surprise
            return len(slots_R), int(self._num_drawn_C[slots_R].sum())

    def _add_rows(self, new_R: NDArray[np.void]) -> None:
        self.num_added += len(new_R)
        kept_R = new_R[-self.capacity :]
        start = (self.num_added - len(kept_R)) % self.capacity
        num_before_wrap = min(len(kept_R), self.capacity - start)
        num_wrapped = len(kept_R) - num_before_wrap
        self.rows_C[start : start + num_before_wrap] = kept_R[:num_before_wrap]
        self.rows_C[:num_wrapped] = kept_R[num_before_wrap:]
        for slots in (slice(start, start + num_before_wrap), slice(num_wrapped)):
            self._num_drawn_C[slots] = 0
            if self.num_excluded:
                self.num_excluded -= int(np.count_nonzero(self.is_excluded_C[slots]))
                self.is_excluded_C[slots] = False

    def _add_finals(self, final_FN: NDArray[np.uint8]) -> None:
        next_final = 2 * self._num_episodes
        oldest = next_final
        if len(self) > 0:
            oldest_slot = (self.num_added - len(self)) % self.capacity
            oldest = int(self.rows_C["final"][oldest_slot]) // 2 * 2
        end = next_final + len(final_FN)
        room = len(self._final_EN)
        while end - oldest > room:
            room *= 2
        if room > len(self._final_EN):
            grown_EN = np.zeros((room, self._final_EN.shape[1]), np.uint8)
            live = np.arange(oldest, next_final)
            grown_EN[live % room] = self._final_EN[live % len(self._final_EN)]
            self._final_EN = grown_EN
        self._final_EN[np.arange(next_final, end) % room] = final_FN
        self._num_episodes += len(final_FN) // 2


@dataclass(frozen=True, eq=False)
class RowFormat:
    """How to read the rows of a batch: where their fields lie, and how symmetries move them."""

    dtype: np.dtype[np.void]
    num_actions: int
    num_outcomes: int
    q_ratio: float
    """Weight of the search value in the value target; the rest is the outcome of the game."""
    new_action_SA: NDArray[np.int64]
    """What an action becomes under a symmetry."""
    old_action_SA: NDArray[np.int64]
    """The action that becomes this one."""
    old_byte_SN: NDArray[np.int64]
    """The same for the bytes of an observation."""

    @classmethod
    def of(cls, game: Game, q_ratio: float) -> "RowFormat":
        new_action_SA = np.array([action_A for action_A, _ in game.symmetries], np.int64)
        return cls(
            dtype=row_dtype(game),
            num_actions=game.num_actions,
            num_outcomes=len(game.outcomes),
            q_ratio=q_ratio,
            new_action_SA=new_action_SA,
            old_action_SA=np.argsort(new_action_SA, axis=1),
            old_byte_SN=np.argsort([byte_N for _, byte_N in game.symmetries], axis=1),
        )


@dataclass(frozen=True)
class Batch:
    """Samples to train on. Everything about a sample is in the view of its observer."""

    rows_B: NDArray[np.void]
    """As the buffer keeps them; their fields are those of `row_dtype`."""
    final_observation_BN: NDArray[np.uint8]
    """What the observer saw when the game was over."""
    symmetry_B: NDArray[np.int64]
    """The symmetry to apply to each sample."""
    format: RowFormat

    def __len__(self) -> int:
        return len(self.rows_B)


class Sampler:
    """Draws batches from a buffer, each sample under a random symmetry of the game.

    Samples are uniform over rows, not games, so long games weigh more. With
    `policy_surprise_weight`, that share of the rows with a policy is redrawn in proportion to their
    surprise (policy-surprise weighting, after KataGo). With `turn_ahead_weight`, rows whose value
    target looks a turn ahead are drawn that many times as often as others.
    """

    def __init__(self, buffer: ReplayBuffer, game: Game, config: ReplayConfig, seed: int) -> None:
        self._buffer = buffer
        self._policy_surprise_weight = config.policy_surprise_weight
        self._turn_ahead_weight = config.turn_ahead_weight
        self._format = RowFormat.of(game, config.value_target_q_ratio)
        self._rng = np.random.Generator(np.random.PCG64(seed))

    @property
    def state(self) -> dict[str, Any]:
        """The state of the random generator, to resume from; can be written as JSON."""
        return dict(self._rng.bit_generator.state)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Resumes from a `state`."""
        try:
            self._rng.bit_generator.state = state
        except (KeyError, TypeError, ValueError) as error:
            raise BadText(f"not the state of a sampler: {error!r}") from error

    def blank(self, batch_size: int) -> Batch:
        """A batch of zeros, shaped like those of `sample`."""
        num_bytes = self._format.old_byte_SN.shape[1]
        return Batch(
            rows_B=np.zeros(batch_size, self._format.dtype),
            final_observation_BN=np.zeros((batch_size, num_bytes), np.uint8),
            symmetry_B=np.zeros(batch_size, np.int64),
            format=self._format,
        )

    def sample(self, batch_size: int) -> Batch:
        """Draws a batch, with replacement."""
        if len(self._buffer) == self._buffer.num_excluded:
            raise Inconsistent("the replay buffer is empty: there is nothing to sample yet")
        rows_B, final_BN = self._buffer.take(self._draw(batch_size))
        symmetry_B = self._rng.integers(len(self._format.new_action_SA), size=batch_size)
        return Batch(rows_B, final_BN, symmetry_B, self._format)

    def _draw(self, batch_size: int) -> NDArray[np.int64]:
        slots_B = self._uniform(batch_size)
        refused_B = self._is_refused(slots_B)
        while refused_B.any():
            slots_B[refused_B] = again = self._uniform(int(np.count_nonzero(refused_B)))
            refused_B[refused_B] = self._is_refused(again)
        if self._policy_surprise_weight == 0:
            return slots_B
        by_surprise_B = self._buffer.rows_C["has_policy"][slots_B]
        by_surprise_B &= self._rng.random(batch_size) < self._policy_surprise_weight
        up_to_C = np.cumsum(self._buffer.rows_C["surprise"], dtype=np.float64)
        if up_to_C[-1] > 0:
            drawn = self._rng.random(np.count_nonzero(by_surprise_B)) * up_to_C[-1]
            slots_B[by_surprise_B] = np.searchsorted(up_to_C, drawn, side="right")
        return slots_B

    def _uniform(self, count: int) -> NDArray[np.int64]:
        return self._buffer.slots(self._rng.integers(len(self._buffer), size=count))

    def _is_refused(self, slots_B: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Excluded rows, and as many others as give `turn_ahead_weight` (rejection sampling)."""
        refused_B = self._buffer.is_excluded_C[slots_B]
        if self._turn_ahead_weight > 1:
            skipped_B = self._rng.random(len(slots_B)) * self._turn_ahead_weight >= 1
            refused_B |= skipped_B & ~self._buffer.rows_C["looks_ahead"][slots_B]
        return refused_B
