"""The heuristics of Beasty Bar: points in the bar, and the chances of those who wait.

A position is worth the points that each side has in the bar, and for animals in the queue their
points times the chance to get in, which is better near the front. Only the player's own observation
is read; see cpp/games/beastybar.h for its bytes.
"""

from functools import partial

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.player import Player
from zerofleet.arena.simple_players import GreedyPlayer
from zerofleet.games import Game

POINTS = np.array([4, 4, 4, 3, 3, 2, 4, 3, 2, 3, 2, 2], np.float32)
"""Of the species by strength: skunk, parrot, kangaroo, monkey, chameleon, seal, zebra, giraffe,
snake, crocodile, hippo, lion."""

NUM_PLACES, IN_BAR, QUEUE_FRONT = 16, 4, 6
CHANCE_BY_PLACE = np.zeros(NUM_PLACES, np.float32)
"""That an animal there gets into the bar. A turn plays one animal whichever it is, so those in
hands and piles need not be weighed."""
CHANCE_BY_PLACE[IN_BAR] = 1
CHANCE_BY_PLACE[QUEUE_FRONT : QUEUE_FRONT + 5] = [0.5, 0.45, 0.35, 0.3, 0.25]

WEIGHTS = {"heuristic": (1.0, 1.0), "aggressive": (0.5, 1.0), "defensive": (1.0, 0.5)}
"""Of what the player itself has and of what the other has: aggressive is after the other's animals,
defensive looks after its own."""


def player(name: str, game: Game) -> Player:
    return GreedyPlayer(name, partial(values, *WEIGHTS[name]))


def values(
    own_weight: float, other_weight: float, observations_BN: NDArray[np.uint8]
) -> NDArray[np.float32]:
    """What positions are worth to their observer, in points."""
    worth_BC = CHANCE_BY_PLACE[observations_BN[:, :24]] * np.tile(POINTS, 2)  # C cards
    own_B, other_B = worth_BC[:, :12].sum(axis=1), worth_BC[:, 12:].sum(axis=1)
    difference: NDArray[np.float32] = own_weight * own_B - other_weight * other_B
    return difference
