"""Keeps the newest positions in memory, as rows to train on.

Rows are derived from an episode once, when it arrives, and lie in a ring. A position has a number,
counted from the start of the run, and the number alone says where it lies: a buffer that is filled
again from the log is the same buffer. Nothing here knows the rules.

Shapes: C capacity, B rows asked for, R new rows, E episodes, F final observations, N bytes of an
observation, A actions, O outcomes of the game.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import PackedRows
from zerofleet.games import Game

OUTCOME_UNIT = 65535
"""What probability 1 is in the outcome distributions of rows, which are whole numbers."""

LEAST_EPISODES = 16


def row_type(game: Game) -> np.dtype[np.void]:
    """A row as the core packs it (cpp/record/packed_rows.h) and the buffer keeps it.

    Numbers are little-endian: whoever trains reads them from the bytes.
    """
    return np.dtype(
        [
            ("observation", np.uint8, (game.observation_bytes,)),
            ("legal_bits", np.uint8, ((game.num_actions + 7) // 8,)),
            ("policy", "<u2", (game.num_actions,)),
            ("has_policy", np.bool_),
            ("outcome", np.uint8),
            ("search_outcomes", "<u2", (len(game.outcomes),)),
            ("surprise", "<f4"),
            ("reply", "<i4"),
            ("final", "<i8"),  # 2 * number of the episode + observer
        ]
    )


class ReplayBuffer:
    """The newest `capacity` positions. One thread may add while others read."""

    def __init__(self, game: Game, capacity: int, num_added: int = 0) -> None:
        """`num_added` is the number of the first position to come, where a run goes on."""
        self.capacity = capacity
        self.num_added = num_added
        """Positions ever added, counted from the start of the run."""
        self._first_number = num_added
        self._num_episodes = 0
        self.rows_C = np.zeros(capacity, row_type(game))
        """By slot, zeros where no position has come yet. To be read only."""
        self._final_EN = np.zeros((2 * LEAST_EPISODES, game.observation_bytes), np.uint8)
        self._changing = threading.Lock()

    def __len__(self) -> int:
        return min(self.capacity, self.num_added - self._first_number)

    @property
    def num_bytes(self) -> int:
        """Memory of a full buffer; rows that have not come yet take none."""
        return self.rows_C.nbytes + self._final_EN.nbytes

    def add(self, packed: PackedRows) -> None:
        """Takes in the rows of episodes; the oldest positions make room for them."""
        if len(packed.rows) == 0:
            return
        new_R = packed.rows.view(self.rows_C.dtype)[:, 0]
        new_R["final"] += 2 * self._num_episodes
        with self._changing:
            self._add_finals(packed.final_observations)
            self._add_rows(new_R)

    def slots(self, ages_B: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where positions lie; the newest has age 0, the oldest len - 1."""
        return (self.num_added - 1 - ages_B) % self.capacity

    def take(self, slots_B: NDArray[np.int64]) -> tuple[NDArray[np.void], NDArray[np.uint8]]:
        """Copies of the rows in these slots, and what their observers saw at the end [B, N]."""
        with self._changing:
            rows_B = self.rows_C.take(slots_B)
            return rows_B, self._final_EN.take(rows_B["final"] % len(self._final_EN), axis=0)

    def _add_rows(self, new_R: NDArray[np.void]) -> None:
        self.num_added += len(new_R)
        kept_R = new_R[-self.capacity :]
        start = (self.num_added - len(kept_R)) % self.capacity
        num_before_wrap = min(len(kept_R), self.capacity - start)
        self.rows_C[start : start + num_before_wrap] = kept_R[:num_before_wrap]
        self.rows_C[: len(kept_R) - num_before_wrap] = kept_R[num_before_wrap:]

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
