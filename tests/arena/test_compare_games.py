"""Two sets of games compared: equal play shows no difference, other play does."""

from collections.abc import Sequence

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.compare_games import Contrast, compare, measures_of
from zerofleet.errors import Inconsistent
from zerofleet.runs import LoggedGame
from zerofleet.runs.logged_games import EpisodeList

CONNECT4 = zf.games.get("connect4")


def played(num_games: int, worker: int, **settings: object) -> Sequence[LoggedGame]:
    data = zf.selfplay.play(
        CONNECT4,
        "hash",
        num_episodes=num_games,
        num_threads=0,
        worker=worker,
        seed=worker,
        **({"num_simulations": 4} | settings),
    )
    return list(EpisodeList("played", CONNECT4, enumerate(data)))


def by_name(contrasts: Sequence[Contrast]) -> dict[str, Contrast]:
    return {each.measure: each for each in contrasts}


def test_the_measures_of_a_game_by_hand() -> None:
    (game,) = played(1, worker=1)
    found = measures_of(game)
    full = [event for event in game.episode.events if event.kind == "full"]
    assert found.plies == len(game.episode.events)
    assert found.score == {"win": 1, "draw": 0.5, "loss": 0}[game.result]
    entropies = [-sum(p * np.log(p) for _, p in event.policy if p) for event in full]
    assert found.entropy == pytest.approx(np.mean(entropies))
    assert found.surprise == pytest.approx(np.mean([event.surprise for event in full]))
    errors = []
    for ply, event in enumerate(game.episode.events):
        if event.num_simulations:  # in Connect Four the seats alternate
            win, _, loss = event.outcomes_to_move
            errors.append(win - loss - (2 * found.score - 1) * (-1) ** ply)
    assert found.value_bias == pytest.approx(np.mean(errors))
    assert found.value_error == pytest.approx(np.mean(np.square(errors)))


def test_equal_play_differs_in_few_of_many_comparisons() -> None:
    games = played(600, worker=1)
    alarms = [
        compare(games[start : start + 15], games[start + 15 : start + 30]).verdict
        for start in range(0, 600, 30)
    ]
    assert sum(verdict.startswith("The sets differ") for verdict in alarms) <= 4  # of 20 at 5 %


def test_a_difference_in_play_is_reported_with_its_direction() -> None:
    shallow, deep = played(120, worker=1), played(120, worker=2, num_simulations=32)
    found = compare(shallow, deep)
    contrasts = by_name(found.contrasts)
    assert found.verdict.startswith("The sets differ: ")
    assert "surprise" in found.verdict.partition("lower ")[2].partition(" and higher")[0]
    difference = contrasts["surprise"].difference
    assert difference is not None
    assert difference.high < 0
    back = by_name(compare(deep, shallow).contrasts)["surprise"].difference
    assert back is not None
    assert (back.low, back.high) == pytest.approx((-difference.high, -difference.low))


def test_too_few_games_are_reported_as_such() -> None:
    few = compare(played(3, worker=1), played(3, worker=2, num_simulations=64))
    assert few.verdict.startswith("Too few games")
    one = compare(played(1, worker=1), played(50, worker=2))
    assert one.verdict.startswith("Too few games")
    assert {each.p for each in one.contrasts} == {None}


def test_games_without_full_searches_have_no_entropy_to_compare() -> None:
    fast = {"full_search_probability": 1e-9, "fast_simulations": 4}
    found = by_name(compare(played(20, worker=1, **fast), played(20, worker=2)).contrasts)
    assert found["entropy"].first is None
    assert found["entropy"].p is None
    assert found["plies"].p is not None


def test_sets_that_share_games_are_refused_but_not_equal_ids() -> None:
    games = played(5, worker=1)
    with pytest.raises(Inconsistent, match=r"the sets share 3 games, such as 1-"):
        compare(games[:4], games[1:])
    others = played(5, worker=1, num_simulations=5)
    assert {each.id for each in games} & {each.id for each in others}
    compare(games, others)
