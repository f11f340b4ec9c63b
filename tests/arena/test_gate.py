"""The sequential test: its error rates, by simulation, and its verdicts on real players."""

import math

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.elo import expected_score
from zerofleet.arena.gate import Hypotheses, SequentialTest, log_likelihood
from zerofleet.errors import BadText

NUM_TESTS = 300
MAX_PAIRS = 3000


def verdicts(elo, hypotheses, draw_share, seed):
    """Of simulated tests of a player that is so much stronger; and their mean number of pairs."""
    rng = np.random.default_rng(seed)
    win = expected_score(elo) - draw_share / 2
    results = [0.0, 0.5, 1.0]
    shares = [1 - win - draw_share, draw_share, win]
    found, num_pairs = [], 0
    for _ in range(NUM_TESTS):
        test = SequentialTest(hypotheses)
        for pair_score in rng.choice(results, (MAX_PAIRS, 2), p=shares).mean(axis=1):
            num_pairs += 1
            if test.add(float(pair_score)) != "undecided":
                break
        found.append(test.verdict)
    return found, num_pairs / NUM_TESTS


@pytest.mark.parametrize("draw_share", [0.0, 0.5])
def test_error_rates_are_as_stated(draw_share):
    hypotheses = Hypotheses(elo0=0, elo1=100, alpha=0.1, beta=0.05)
    # Two standard errors of 300 tests: 0.035 and 0.025.
    at_elo0, pairs_at_elo0 = verdicts(0, hypotheses, draw_share, seed=1)
    assert at_elo0.count("accepted") / NUM_TESTS < 0.1 + 0.035
    at_elo1, pairs_at_elo1 = verdicts(100, hypotheses, draw_share, seed=2)
    assert at_elo1.count("rejected") / NUM_TESTS < 0.05 + 0.025
    assert "undecided" not in at_elo0 + at_elo1
    assert max(pairs_at_elo0, pairs_at_elo1) < 200


def test_a_likelihood_is_that_of_the_likeliest_distribution_with_the_mean():
    """Checked against a search over all distributions on three results with that mean."""
    counts = {0.0: 10.0, 0.5: 30.0, 1.0: 60.0}
    mean = 0.6
    total = sum(counts.values())

    def direct(middle):
        top = mean - middle / 2
        shares = (1 - top - middle, middle, top)
        return sum(
            count * math.log(share / (count / total))
            for share, count in zip(shares, counts.values(), strict=True)
        )

    best = max(direct(middle) for middle in np.linspace(0.001, 0.799, 4000))
    assert log_likelihood(counts, mean) == pytest.approx(best, abs=1e-3)


def test_a_stronger_player_is_accepted_and_a_weaker_one_rejected():
    accepted = zf.arena.gate("connect4", "heuristic", "random")
    assert accepted.verdict == "accepted"
    assert zf.arena.gate("connect4", "random", "heuristic").verdict == "rejected"
    assert "elo0 0, elo1 30, alpha 0.05, beta 0.05" in str(accepted)
    assert "verdict heuristic is accepted" in str(accepted)


def test_threads_change_neither_verdict_nor_games():
    one, two = (
        zf.arena.gate("connect4", "playout-30", "playout-10", num_threads=threads)
        for threads in (1, 2)
    )
    assert one.verdict == two.verdict == "accepted"
    assert one.match.episodes == two.match.episodes


def test_without_a_verdict_in_time_it_is_undecided():
    result = zf.arena.gate("connect4", "heuristic", "heuristic", max_games=20)
    assert result.verdict == "undecided"
    assert result.match.num_games == 20


@pytest.mark.parametrize(
    ("settings", "fault"),
    [
        ({"elo0": 5, "elo1": 5}, "elo0 must be below elo1"),
        ({"alpha": 0}, "alpha must be between 0 and 0.5"),
        ({"beta": 0.7}, "beta must be between 0 and 0.5"),
    ],
)
def test_hypotheses_that_make_no_sense_are_refused(settings, fault):
    with pytest.raises(BadText, match=fault):
        Hypotheses(**settings)
