"""Players without search."""

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import afterstates
from zerofleet.arena.draws import drawn_among
from zerofleet.arena.player import Player
from zerofleet.errors import Unsupported
from zerofleet.games import Position
from zerofleet.solve import best_actions

NUM_DRAWS = 8
"""Hidden states (the next card, the opponent's hand) over which an action's value is averaged."""

ValuesOf = Callable[[NDArray[np.uint8]], NDArray[np.float32]]
"""Observations uint8 [B, N] to values float32 [B], in the observer's view."""


class RandomPlayer(Player):
    """Chooses uniformly among the legal actions."""

    name = "random"

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        return [
            drawn_among(position.legal_actions(), seed)
            for position, seed in zip(positions, seeds, strict=True)
        ]


class SolverPlayer(Player):
    """Plays perfectly: a soonest win, else a draw, else a latest loss, at random among equals."""

    name = "solver"

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        return [
            drawn_among(self._best(position), seed)
            for position, seed in zip(positions, seeds, strict=True)
        ]

    def _best(self, position: Position) -> list[int]:
        best = best_actions(position)
        if best is None:
            raise Unsupported(f"no solver knows the value of {position!r}")
        return best


class GreedyPlayer(Player):
    """Plays for the afterstate of highest value, without deeper search.

    It evaluates whole turns where a player moves several times in a row, and positions before the
    dice roll. Hidden information is sampled NUM_DRAWS times, the same samples for all actions; an
    action's value is the mean.
    """

    def __init__(self, name: str, values_of: ValuesOf) -> None:
        self.name = name
        self._values_of = values_of

    # R afterstates, P positions, A actions, D samples of hidden information.
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        ends = afterstates(positions, seeds, NUM_DRAWS)
        values_R = np.where(
            ends.over, ends.reward, ends.observer_sign * self._values_of(ends.observations)
        )
        shape_PAD = (len(positions), positions[0].game.num_actions, int(ends.draw.max()) + 1)
        best_PAD = np.full(shape_PAD, -np.inf, np.float32)
        np.maximum.at(best_PAD, (ends.position, ends.action, ends.draw), values_R)
        return [int(action) for action in best_PAD.mean(axis=2).argmax(axis=1)]
