"""The heuristics of Beasty Bar: points in the bar, and expected points in the queue.

An animal in the queue counts its points times its probability to get in, which is higher near the
front. Only the player's own observation is read; cpp/games/beastybar.h describes its bytes.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.player import Player
from zerofleet.arena.simple_players import GreedyPlayer
from zerofleet.games import Game

POINTS = np.array([4, 4, 4, 3, 3, 2, 4, 3, 2, 3, 2, 2], np.float32)
"""By species in order of strength: skunk, parrot, kangaroo, monkey, chameleon, seal, zebra,
giraffe, snake, crocodile, hippo, lion."""

NUM_PLACES, IN_BAR, QUEUE_FRONT = 16, 4, 6
CHANCE_BY_PLACE = np.zeros(NUM_PLACES, np.float32)
"""Probability that an animal there gets into the bar. Every turn plays one animal, so hands and
piles need no weight."""
CHANCE_BY_PLACE[IN_BAR] = 1
CHANCE_BY_PLACE[QUEUE_FRONT : QUEUE_FRONT + 5] = [0.5, 0.45, 0.35, 0.3, 0.25]

WEIGHTS = {"heuristic": (1.0, 1.0), "aggressive": (0.5, 1.0), "defensive": (1.0, 0.5)}
"""Weights of the player's and of the opponent's points: aggressive attacks the opponent's animals,
defensive protects its own."""


def player(name: str, game: Game) -> Player:
    return GreedyPlayer(name, partial(values, *WEIGHTS[name]))


def values(
    own_weight: float, other_weight: float, observations_BN: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """Values of positions in the observer's view, in points."""
    worth_BC = CHANCE_BY_PLACE[observations_BN[:, :24]] * np.tile(POINTS, 2)  # C cards
    own_B, other_B = worth_BC[:, :12].sum(axis=1), worth_BC[:, 12:].sum(axis=1)
    difference: NDArray[np.float32] = own_weight * own_B - other_weight * other_B
    return difference
