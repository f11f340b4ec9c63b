"""Two independent samples compared by their means.

A p-value comes from a permutation test: the share of random assignments of the values to the two
samples in which Welch's t is at least as large as observed. It is exact, whatever the number of
values, where both samples have one distribution, and asymptotically right where only their means
are equal (Janssen 1997; Chung and Romano 2013). Intervals are Student's and Welch's.
"""

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.statistics import Estimate

NUM_PERMUTATIONS = 9_999
VALUES_PER_CALL = 2**20
"""Values that are shuffled in one call: 8 MiB."""
ANGLES = 50_001
"""Points at which the density of Student's t is summed."""
ROUNDING = 1e-9
"""Values that differ by less than this share of the largest are equal."""
MIN_VARIANCE = 1e-12
"""Of values with variance 1: what is less is rounding."""

# N values, M measures, P permutations.
Values = NDArray[np.float64]


def mean_estimate(values: Values) -> Estimate:
    """The mean with Student's interval, which is infinite for a single value."""
    half_width = half_width_of(square_error(values), len(values) - 1)
    mean = float(values.mean())
    return Estimate(mean, mean - half_width, mean + half_width)


def difference_estimate(first: Values, second: Values) -> Estimate:
    """The second mean minus the first with Welch's interval; each sample has two values or more."""
    errors = np.array([square_error(first), square_error(second)])
    freedoms = np.array([len(first) - 1, len(second) - 1])
    total = errors.sum()
    freedom = total**2 / (errors**2 / freedoms).sum() if total else float(freedoms.sum())
    difference = float(second.mean() - first.mean())
    half_width = half_width_of(total, freedom)
    return Estimate(difference, difference - half_width, difference + half_width)


def square_error(values: Values) -> float:
    """The square of the standard error of the mean."""
    return float(values.var(ddof=1)) / len(values) if len(values) > 1 else math.inf


def half_width_of(square_error: float, freedom: float) -> float:
    return math.inf if math.isinf(square_error) else t_quantile(freedom) * math.sqrt(square_error)


def t_quantile(freedom: float, level: float = 0.95) -> float:
    """The two-sided quantile of Student's t.

    With t = √n tan θ and n degrees of freedom, its density is proportional to cos(θ)^(n-1).
    """
    angles = np.linspace(-math.pi / 2, math.pi / 2, ANGLES)
    density = np.cos(angles).clip(0) ** (freedom - 1)
    below = np.cumsum((density[1:] + density[:-1]) / 2)
    angle = np.interp((1 + level) / 2, below / below[-1], angles[1:])
    return math.sqrt(freedom) * math.tan(angle)


def permutation_p_values(
    first_NM: Values, second_NM: Values, seed: int, num_permutations: int = NUM_PERMUTATIONS
) -> list[float | None]:
    """The two-sided p-value of equal means for each of M measures, which may be NaN in some rows.

    Whole rows are permuted. None where a sample has fewer than two values of a measure.
    """
    num_first = len(first_NM)
    pooled_NM = np.concatenate([first_NM, second_NM])
    present_NM = ~np.isnan(pooled_NM)
    counts_M = np.maximum(present_NM.sum(axis=0), 1)
    centred_NM = np.where(present_NM, pooled_NM, 0.0)
    centred_NM = np.where(present_NM, centred_NM - centred_NM.sum(axis=0) / counts_M, 0.0)
    spread_M = np.sqrt((centred_NM**2).sum(axis=0) / counts_M)
    rounding_M = ROUNDING * np.abs(np.where(present_NM, pooled_NM, 0.0)).max(axis=0)
    scaled_NM = centred_NM / np.where(spread_M > rounding_M, spread_M, np.inf)
    sums_of = np.concatenate([scaled_NM, scaled_NM**2, present_NM], axis=1)  # [N, 3 M]

    is_first_N = np.arange(len(pooled_NM)) < num_first
    observed_M = absolute_t(sums_of, is_first_N[np.newaxis].astype(float))[0]
    as_large_M = observed_M * (1 - 1e-9)  # equal sums may differ in their last bits
    rng = np.random.default_rng(seed)
    rows_at_once = max(1, VALUES_PER_CALL // len(pooled_NM))
    num_as_large_M = np.zeros(len(counts_M), dtype=int)
    for start in range(0, num_permutations, rows_at_once):
        num_rows = min(rows_at_once, num_permutations - start)
        assigned_PN = rng.permuted(np.tile(is_first_N, (num_rows, 1)), axis=1)
        num_as_large_M += (absolute_t(sums_of, assigned_PN.astype(float)) >= as_large_M).sum(axis=0)
    is_tested_M = np.minimum(present_NM[:num_first].sum(0), present_NM[num_first:].sum(0)) > 1
    return [
        (1 + int(count)) / (1 + num_permutations) if is_tested else None
        for count, is_tested in zip(num_as_large_M, is_tested_M, strict=True)
    ]


def absolute_t(sums_of: Values, is_first_PN: Values) -> Values:
    """|Welch's t| [P, M] for each way to choose the first sample."""
    first_P3M = is_first_PN @ sums_of
    second_P3M = sums_of.sum(axis=0) - first_P3M
    means, square_errors = [], []
    for sums_P3M in (first_P3M, second_P3M):
        sum_PM, squares_PM, count_PM = np.split(sums_P3M, 3, axis=1)
        count_PM = np.maximum(count_PM, 2)
        variance_PM = (squares_PM - sum_PM**2 / count_PM) / (count_PM - 1)
        means.append(sum_PM / count_PM)
        square_errors.append(np.maximum(variance_PM, MIN_VARIANCE) / count_PM)
    difference_PM = np.abs(means[1] - means[0])
    t_PM: Values = difference_PM / np.sqrt(square_errors[0] + square_errors[1])
    return t_PM


def smallest_p(num_first: int, num_second: int) -> float:
    """No permutation test of so many values can give less."""
    ways = math.comb(num_first + num_second, num_first)
    return max(1 / ways, 1 / (1 + NUM_PERMUTATIONS))


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, so that the chance of any false alarm keeps the level
    (Holm 1979)."""
    corrected = [0.0] * len(p_values)
    least = 0.0
    for rank, index in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - rank)))
        corrected[index] = least
    return corrected
