"""Elo: known strengths come back, and nothing is infinite."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.elo import PairScores, expected_score, fit_elo
from zerofleet.arena.rating_picture import draw_ratings
from zerofleet.errors import BadText, Inconsistent


def simulated(rng, elos, num_pairs):
    """Pair scores of every pairing, each game won with the chance that Elo gives."""
    return [
        PairScores(
            first,
            second,
            rng.binomial(2, expected_score(elos[first] - elos[second]), num_pairs) / 2,
        )
        for first in range(len(elos))
        for second in range(first)
    ]


def test_expected_scores_are_those_of_the_elo_scale():
    assert expected_score(0) == 0.5
    assert expected_score(400) == pytest.approx(10 / 11)
    assert expected_score(-400) == pytest.approx(1 / 11)


def test_known_strengths_come_back_from_many_games():
    elos = [300.0, 0.0, 120.0, -150.0]
    found, errors = fit_elo(4, simulated(np.random.default_rng(1), elos, 20_000), anchor=1)
    assert found[1] == errors[1] == 0
    assert np.abs(found - elos).max() < 5
    assert errors.max() < 6


def test_errors_cover_as_often_as_they_say():
    elos = np.array([250.0, 0.0, 80.0])
    covered = 0
    rng = np.random.default_rng(2)
    for _ in range(300):
        found, errors = fit_elo(3, simulated(rng, elos, 100), anchor=1)
        covered += np.abs(found - elos)[[0, 2]] <= errors[[0, 2]]
    assert ((covered > 0.91 * 300) & (covered < 0.99 * 300)).all()


def test_pairs_that_always_split_leave_little_error():
    spread = PairScores(0, 1, [0.0, 1.0] * 100)
    split = PairScores(0, 1, [0.5] * 200)
    assert fit_elo(2, [split], 1)[1][0] < 0.2 * fit_elo(2, [spread], 1)[1][0]


def test_a_shut_out_has_a_finite_rating_with_a_wide_error():
    elo, errors = fit_elo(2, [PairScores(0, 1, [1.0] * 100)], anchor=1)
    assert elo[0] == pytest.approx(400 * np.log10(101), abs=0.1)  # 101 of 102 pairs
    assert 100 < errors[0] < 1000


def test_players_without_a_common_opponent_cannot_be_rated():
    with pytest.raises(Inconsistent, match="connect every player with the anchor"):
        fit_elo(4, [PairScores(0, 1, [0.5]), PairScores(2, 3, [0.5])], anchor=0)


def test_ladders_come_out_in_the_expected_order(tmp_path):
    ratings = zf.arena.rate("connect4", ["playout-20", "random", "playout-200"], num_games=200)
    assert [rating.player for rating in ratings.ratings] == ["playout-200", "playout-20", "random"]
    strongest, middle, anchor = ratings.ratings
    assert strongest.elo - strongest.error > middle.elo > middle.error > anchor.elo == 0
    assert strongest.num_games == 400
    assert sum(rating.score for rating in ratings.ratings) == pytest.approx(1.5)

    first, second, third = str(ratings).splitlines()[2:]
    assert first.rindex("o") > second.rindex("o") > third.rindex("o")
    picture = tmp_path / "ratings.png"
    draw_ratings(ratings, picture)
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_random_is_always_among_the_players_and_nobody_is_twice():
    ratings = zf.arena.rate("connect4", ["heuristic"], num_games=4)
    assert {rating.player for rating in ratings.ratings} == {"heuristic", "random"}
    with pytest.raises(BadText, match="a player is listed twice"):
        zf.arena.rate("connect4", ["heuristic", "heuristic"])
    with pytest.raises(BadText, match="a player besides random"):
        zf.arena.rate("connect4", ["random"])
