"""Keeps the newest positions in memory, as rows to train on.

Rows are derived from an episode once, when it arrives, and lie in a ring. A position has a number,
counted from the start of the run, and the number alone says where it lies: a window that is filled
again from the log is the same window. Nothing here knows the rules.

Shapes: C capacity, B rows asked for, R rows of an episode, E episodes with room, N bytes of an
observation, A actions, O outcomes of the game.
"""

import threading

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import TrainingRows
from zerofleet.games import Game

OUTCOME_UNIT = 65535
LEAST_EPISODES = 16


def row_type(game: Game) -> np.dtype[np.void]:
    """A row as the window keeps it; the fields are those of TrainingRows, one position each.

    Numbers are little-endian on every machine: whoever trains reads them from the bytes.
    """
    return np.dtype(
        [
            ("observation", np.uint8, (game.observation_bytes,)),
            ("legal_bits", np.uint8, ((game.num_actions + 7) // 8,)),
            ("policy", "<u2", (game.num_actions,)),
            ("has_policy", np.bool_),
            ("outcome", np.uint8),
            ("search_outcomes", "<u2", (len(game.outcomes),)),
            ("surprise", np.float32),
            ("reply", "<i4"),
            ("final", np.int64),  # 2 * number of the episode + observer
        ]
    )


class Window:
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
        """Memory of a full window; rows that have not come yet take none."""
        return self.rows_C.nbytes + self._final_EN.nbytes

    def add(self, rows: TrainingRows) -> None:
        """Takes in an episode; the oldest positions make room for it."""
        num_rows = len(rows.observer)
        if num_rows == 0:
            return
        new_R = np.empty(num_rows, self.rows_C.dtype)
        new_R["observation"] = rows.observations
        new_R["legal_bits"] = np.packbits(rows.legal, axis=1)
        new_R["policy"] = rows.policy
        new_R["has_policy"] = rows.policy.any(axis=1)
        new_R["outcome"] = rows.outcome
        new_R["search_outcomes"] = rows.search_outcomes
        new_R["surprise"] = rows.surprise
        new_R["reply"] = rows.reply
        new_R["final"] = 2 * self._num_episodes + rows.observer.astype(np.int64)
        with self._changing:
            self._add_final(rows.final_observations)
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

    def _add_final(self, final_2N: NDArray[np.uint8]) -> None:
        next_final, room = 2 * self._num_episodes, len(self._final_EN)
        oldest = next_final
        if len(self) > 0:
            oldest_slot = (self.num_added - len(self)) % self.capacity
            oldest = int(self.rows_C["final"][oldest_slot]) // 2 * 2
        if next_final + 2 - oldest > room:
            grown_EN = np.zeros((2 * room, self._final_EN.shape[1]), np.uint8)
            live = np.arange(oldest, next_final)
            grown_EN[live % (2 * room)] = self._final_EN[live % room]
            self._final_EN = grown_EN
        at = next_final % len(self._final_EN)
        self._final_EN[at : at + 2] = final_2N
        self._num_episodes += 1
