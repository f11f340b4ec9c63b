"""The backgammon heuristic: pip count, exposed blots and made points.

The value of a position for the player about to roll is the difference between the two sides,
squashed into (-1, 1) so that a win is worth more. cpp/games/backgammon/rules.h describes the bytes
of an observation.
"""

import numpy as np
from numpy.typing import NDArray

SHOTS = np.array([0, 11, 12, 14, 15, 15, 17, 6, 6, 5, 3, 2, 3]) / 36
"""Probability to hit a blot at this distance, ignoring blocked points."""
PER_PIP = 0.012
PER_HIT = 0.012
"""For each pip that a hit checker loses, and the roll to enter."""
ENTERING_PIPS = 8
READY = 0.3
"""Weight of a blot whose owner is on roll and may cover it."""
HELD = np.array([0, 3, 5, 8, 10, 9, 8, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 3, 1, 0]) / 100
"""Value of a made point, from the ace point of the own home board on."""
ON_BAR = 0.08


def values(observations_BN: NDArray[np.uint8]) -> NDArray[np.float32]:
    """Values of positions before the roll in the observer's view, between -1 and 1."""
    rows_BN = observations_BN.astype(np.float64)
    own_BP, other_BP = rows_BN[:, :24], rows_BN[:, 26:50]
    own_bar_B, other_bar_B = rows_BN[:, 24], rows_BN[:, 50]
    roller = side(own_BP, own_bar_B, other_BP, other_bar_B, READY)
    waiter = side(other_BP[:, ::-1], other_bar_B, own_BP[:, ::-1], own_bar_B, 1.0)
    worth_B: NDArray[np.float32] = np.tanh((roller - waiter) / 4).astype(np.float32)
    return worth_B


def side(
    mine_BP: NDArray[np.float64],
    my_bar_B: NDArray[np.float64],
    theirs_BP: NDArray[np.float64],
    their_bar_B: NDArray[np.float64],
    exposed: float,
) -> NDArray[np.float64]:
    """The score of one side. Points are numbered from its own home: it moves down, the other up."""
    points = np.arange(1, 25)
    pips_B = mine_BP @ points + 25 * my_bar_B
    safe_BP = np.ones_like(mine_BP)
    hitters_BP = np.concatenate([their_bar_B[:, None], theirs_BP], axis=1) > 0  # from point 0 on
    for distance in range(1, len(SHOTS)):
        reached_BP = hitters_BP[:, : 25 - distance]  # from point p the blot on p + distance
        safe_BP[:, distance - 1 :] *= 1 - SHOTS[distance] * reached_BP
    lost_pips = 25 - points + ENTERING_PIPS
    risk_B = ((mine_BP == 1) * (1 - safe_BP)) @ lost_pips
    held_B = (mine_BP >= 2) @ HELD
    worth_B: NDArray[np.float64] = (
        held_B - PER_PIP * pips_B - exposed * PER_HIT * risk_B - ON_BAR * my_bar_B
    )
    return worth_B
