"""Tests and intervals for two samples, against tables, enumeration and simulated truth."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from zerofleet.arena.two_samples import (
    difference_estimate,
    holm,
    mean_estimate,
    permutation_p_values,
    smallest_p,
    t_quantile,
)

Values = NDArray[np.float64]


def p_value(first: Values, second: Values, **how: int) -> float:
    (p,) = permutation_p_values(first[:, np.newaxis], second[:, np.newaxis], **({"seed": 1} | how))
    assert p is not None
    return p


@pytest.mark.parametrize(
    ("freedom", "quantile"), [(1, 12.706), (2, 4.303), (4, 2.776), (30, 2.042), (10**5, 1.960)]
)
def test_quantiles_of_t_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert t_quantile(freedom) == pytest.approx(quantile, abs=6e-4)


def test_a_single_value_has_no_finite_interval() -> None:
    found = mean_estimate(np.array([3.0]))
    assert (found.mean, found.low, found.high) == (3.0, -np.inf, np.inf)


def test_intervals_of_a_difference_cover_the_truth_in_95_percent() -> None:
    rng = np.random.default_rng(3)
    num_covered = 0
    for _ in range(300):
        found = difference_estimate(rng.normal(5, 1, 6), rng.normal(7, 4, 20))
        num_covered += found.low <= 2 <= found.high
    assert 0.95 - 3 * sqrt(0.95 * 0.05 / 300) < num_covered / 300 < 0.95 + 3 * sqrt(0.0475 / 300)


def test_a_small_p_value_is_the_share_among_all_ways_to_choose() -> None:
    first, second = np.array([1.0, 2, 4, 7]), np.array([6.0, 9, 9, 12])

    def welch(ours: Values, theirs: Values) -> float:
        error = ours.var(ddof=1) / len(ours) + theirs.var(ddof=1) / len(theirs)
        return float(abs(ours.mean() - theirs.mean()) / sqrt(error))

    pooled = np.concatenate([first, second])
    ways = [list(chosen) for chosen in combinations(range(8), 4)]
    observed = welch(first, second)
    exact = np.mean([welch(pooled[way], np.delete(pooled, way)) >= observed - 1e-9 for way in ways])
    assert p_value(first, second) == pytest.approx(exact, abs=4 * sqrt(exact / 9999))


def test_p_values_are_uniform_where_both_samples_have_one_distribution() -> None:
    rng = np.random.default_rng(5)
    num = 300
    found = sorted(
        p_value(rng.exponential(1, 8), rng.exponential(1, 15), seed=seed, num_permutations=499)
        for seed in range(num)
    )
    largest_gap = np.abs(np.array(found) - (np.arange(num) + 0.5) / num).max()
    assert largest_gap < 1.63 / sqrt(num) + 1 / 500  # Kolmogorov-Smirnov at 1 %


def test_other_variances_alone_are_no_difference_of_means() -> None:
    rng = np.random.default_rng(7)
    alarms = [
        p_value(rng.normal(0, 4, 15), rng.normal(0, 1, 60), num_permutations=199) <= 0.05
        for _ in range(300)
    ]
    assert np.mean(alarms) < 0.05 + 3 * sqrt(
        0.05 * 0.95 / 300
    )  # the plain difference of means: 0.27


def test_a_shift_is_detected_and_equal_constants_are_not() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(0, 1, 100)
    assert p_value(values[:50], values[50:] + 1) < 0.001
    assert p_value(np.ones(50), np.ones(40)) == 1
    assert p_value(np.full(50, 0.1 + 0.2), np.full(40, 0.3)) == 1  # but for their last bits
    assert p_value(np.ones(50), np.zeros(40)) < 0.001


def test_measures_are_tested_each_for_itself_with_gaps() -> None:
    rng = np.random.default_rng(11)
    first, second = rng.normal(0, 1, (40, 3)), rng.normal(0, 1, (40, 3))
    second[:, 1] += 2
    first[3:, 2] = np.nan
    second[1:, 2] = np.nan
    same, shifted, missing = permutation_p_values(first, second, seed=1)
    assert same is not None
    assert shifted is not None
    assert same > 0.01
    assert shifted < 0.001
    assert missing is None  # one value in the second sample


def test_three_against_three_cannot_be_significant() -> None:
    first, second = np.array([1.0, 2, 3]), np.array([101.0, 102, 103])
    assert smallest_p(3, 3) == 1 / 20
    assert p_value(first, second) == pytest.approx(2 / 20, abs=0.02)  # the two extremes


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.6, 0.9]) == [1.0, 1.0]
    assert holm([]) == []
