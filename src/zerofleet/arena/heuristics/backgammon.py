"""The heuristic of backgammon: the race, blots within reach, and points that are held.

A position is worth, to whoever is about to roll, what one side has less what the other has. It is
pressed between -1 and 1, so that a game that is won is worth more. See
cpp/games/backgammon/rules.h for the bytes of an observation.
"""

import numpy as np
from numpy.typing import NDArray

SHOTS = np.array([0, 11, 12, 14, 15, 15, 17, 6, 6, 5, 3, 2, 3]) / 36
"""The chance to hit a blot at this distance, were nothing in the way."""
PER_PIP = 0.012
PER_HIT = 0.012
"""For each pip that a hit checker loses, and one roll's entering besides."""
ENTERING_PIPS = 8
READY = 0.3
"""How much a blot counts that its owner may cover first, being on roll."""
HELD = np.array([0, 3, 5, 8, 10, 9, 8, 4, 3, 2, 1, 1, 1, 1, 1, 1, 1, 1, 2, 3, 4, 3, 1, 0]) / 100
"""What it is worth to hold a point, from the ace point of one's own home on."""
ON_BAR = 0.08


def values(observations_BN: NDArray[np.uint8]) -> NDArray[np.float32]:
    """What positions before the roll are worth to their observer, between -1 and 1."""
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
    """What one side has. Points are numbered from its own home: it moves down, the other up."""
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
