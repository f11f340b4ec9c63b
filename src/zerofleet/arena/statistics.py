"""Means of paired games, and how far they can be trusted.

The two games of a pair share their deal, dice or opening, so pairs are the independent units, not
games.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Z_95 = 1.959964
"""A normal number lies within so many standard deviations 95 % of the time."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def estimate(pair_means: Sequence[float], lowest: float, highest: float) -> Estimate:
    """The mean of values between `lowest` and `highest`, one per pair.

    The interval is that of a normal mean over the pairs and two more, one at each end: so it has a
    width where all pairs came out alike, and covers as often as it says near the ends too.
    """
    values = with_ends(pair_means, lowest, highest)
    center = values.mean()
    half_width = Z_95 * np.sqrt(values.var() / len(values))
    return Estimate(
        mean=float(np.mean(pair_means)),
        low=float(max(lowest, center - half_width)),
        high=float(min(highest, center + half_width)),
    )


def with_ends(pair_means: Sequence[float], lowest: float, highest: float) -> NDArray[np.float64]:
    """The values and two more: a small prior, one pair won and one lost by everything."""
    return np.array([*pair_means, lowest, highest])
