"""A run's Elo is that of matches whose outcome is known beforehand."""

import pytest

from zerofleet.report.elo import elo_curve


def rating(step, opponent, won, lost):
    """So many pairs won twice and lost twice."""
    pairs = [lost, 0, 0, 0, won]
    return {"step": step, "opponent": opponent, "pairs": pairs, "trained_s": step, "run_games": 9}


def test_a_step_that_wins_ten_times_as_often_as_it_loses_is_400_elo_above():
    curve = elo_curve([rating(5, "random", won=10_000, lost=1_000)])
    assert curve is not None
    assert (curve.anchor, curve.opponents) == ("random", {"random": 0})
    (step,) = curve.steps
    assert step.elo == pytest.approx(400, abs=2)
    assert 0 < step.error < 15


def test_opponents_and_steps_are_on_one_scale():
    curve = elo_curve(
        [
            rating(1, "random", won=10_000, lost=1_000),
            rating(1, "heuristic", won=1_000, lost=10_000),
            rating(2, "heuristic", won=10_000, lost=1_000),
        ]
    )
    assert curve is not None
    assert curve.opponents["heuristic"] == pytest.approx(800, abs=4)
    assert [step.elo for step in curve.steps] == pytest.approx([400, 1200], abs=6)


def test_opponents_that_were_changed_altogether_leave_the_curve_of_the_anchor():
    curve = elo_curve(
        [
            rating(1, "playout-9", won=9, lost=9),
            rating(2, "random", won=10_000, lost=1_000),
            rating(2, "start", won=1, lost=1),
            rating(3, "start", won=1, lost=1),
        ]
    )
    assert curve is not None
    assert curve.anchor == "random"
    assert [step.step for step in curve.steps] == [0, 2, 3]
    assert set(curve.opponents) == {"random", "start"}


def test_without_ratings_there_is_no_curve():
    assert elo_curve([]) is None
