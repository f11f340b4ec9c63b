"""Means over paired games, with 95 % intervals.

The two games of a pair share their deal, dice or opening, so pairs are the independent units, not
games (Fishtest's pentanomial model).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Z_95 = 1.959964
"""The two-sided 95 % quantile of the normal distribution."""


@dataclass(frozen=True)
class Estimate:
    """A mean and its 95 % interval."""

    mean: float
    low: float
    high: float


def estimate(pair_means: Sequence[float], lowest: float, highest: float) -> Estimate:
    """The mean of one value per pair, each between `lowest` and `highest`.

    The interval is the normal one over the pairs and two pseudo-pairs, one at each end (Agresti and
    Coull 1998). It has a width even if all pairs are equal, and keeps its coverage near the ends.
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
    """The values and two pseudo-pairs: one entirely won, one entirely lost."""
    return np.array([*pair_means, lowest, highest])
