"""Players without search."""

from collections.abc import Callable, Sequence
from random import Random

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import turn_ends
from zerofleet.arena.player import Player
from zerofleet.games import Position

NUM_DRAWS = 8
"""Hidden states over which an action's value is averaged: the card drawn next, the other's hand."""

ValuesOf = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""uint8 [B, N], observations, to float32 [B]: what each position is worth to its observer."""


class RandomPlayer(Player):
    """Chooses among the legal actions, each as likely."""

    name = "random"

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        return [
            Random(seed).choice(position.legal_actions())
            for position, seed in zip(positions, seeds, strict=True)
        ]


class GreedyPlayer(Player):
    """Plays for the resulting position that is worth most, without looking further.

    It weighs whole turns where a player moves several times in a row, and positions before the
    roll of dice. What is hidden is drawn anew before an action is tried, NUM_DRAWS times, the same
    draws for all actions; an action is worth its mean.
    """

    def __init__(self, name: str, values_of: ValuesOf) -> None:
        self.name = name
        self._values_of = values_of

    # R ends of turns, P positions, A actions, D draws of what is hidden.
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        ends = turn_ends(positions, seeds, NUM_DRAWS)
        values_R = np.where(
            ends.over, ends.reward, ends.observer_sign * self._values_of(ends.observations)
        )
        shape_PAD = (len(positions), positions[0].game.num_actions, int(ends.draw.max()) + 1)
        best_PAD = np.full(shape_PAD, -np.inf, np.float32)
        np.maximum.at(best_PAD, (ends.position, ends.action, ends.draw), values_R)
        return [int(action) for action in best_PAD.mean(axis=2).argmax(axis=1)]
