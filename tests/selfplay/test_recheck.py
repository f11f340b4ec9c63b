"""Decisions of a finished episode, searched again alone: they equal what the episode says."""

from collections.abc import Mapping

import pytest

import zerofleet as zf
from zerofleet import _core
from zerofleet.games import Episode, Game

SEED, WORKER, VERSION = 7, 3, 5
PUCT: dict[str, object] = {
    "num_simulations": 24,
    "full_search_probability": 0.5,
    "fast_simulations": 6,
    "reuse_tree": False,
}
GUMBEL: dict[str, object] = {"num_simulations": 12, "root": "gumbel"}
AFTERSTATES: dict[str, object] = {"afterstates": True, "turn_ahead_probability": 0.1}
CASES = [(name, settings) for name in zf.games.names() for settings in (PUCT, GUMBEL)]
CASES.append(("backgammon", AFTERSTATES))


def play(
    game: Game, settings: Mapping[str, object], first: int = 100, count: int = 3, threads: int = 0
) -> list[bytes]:
    driver = _core.SelfPlay(
        game, dict(settings), 1, 2, threads, "hash", SEED, WORKER, None, VERSION, first, count
    )
    while not driver.finished:
        driver.wait_for_episodes(count, 1.0)
    episodes = driver.take_episodes()
    driver.stop()
    return sorted(episodes, key=lambda data: Episode.decode(data).sequence)


def recheck(
    game: Game, settings: Mapping[str, object], episode: Episode, events: list[int]
) -> "_core.Recheck":
    return _core.Recheck(game, dict(settings), "hash", SEED, WORKER, VERSION, episode, events)


def searched(episode: Episode) -> list[int]:
    return [i for i, event in enumerate(episode.events) if event.outcomes_to_move]


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_each_decision_searched_again_equals_the_stored_one(
    name: str, settings: dict[str, object]
) -> None:
    game = zf.games.get(name)
    for data in play(game, settings):
        episode = Episode.decode(data)
        again = recheck(game, settings, episode, searched(episode))
        while not again.finished:
            again.run(1000)
        assert again.episode() == data


@pytest.mark.parametrize("name", zf.games.names())
def test_the_callers_evaluations_give_the_same_decisions(name: str) -> None:
    """By an evaluator of the caller that answers as the core's uniform one."""
    import numpy as np

    game = zf.games.get(name)
    driver = _core.SelfPlay(game, PUCT, 1, 1, 0, "uniform", SEED, WORKER, None, VERSION, 0, 1)
    driver.wait_for_episodes(1, 60.0)
    (data,) = driver.take_episodes()
    episode = Episode.decode(data)
    again = _core.Recheck(game, PUCT, None, SEED, WORKER, VERSION, episode, searched(episode)[:5])
    while not again.finished:
        rows = len(again.gather())
        num_outcomes = len(game.outcomes)
        again.absorb(
            np.zeros((rows, game.num_actions), np.float32),
            np.full((rows, num_outcomes), 1 / num_outcomes, np.float32),
        )
    assert again.episode() == data


@pytest.mark.parametrize("threads", [0, 2])
def test_an_assignment_is_its_games_and_no_more(threads: int) -> None:
    game = zf.games.get("connect4")
    played = play(game, PUCT, first=2**40, count=5, threads=threads)
    assert [Episode.decode(data).sequence for data in played] == [2**40 + i for i in range(5)]
    # Each depends on its number alone, not on the others of its assignment.
    assert play(game, PUCT, first=2**40 + 3, count=1) == [played[3]]


def test_wrong_dice_hands_and_versions_are_found_without_a_search() -> None:
    for name, what in (("backgammon", "game's seed"), ("beastybar", "deal")):
        game = zf.games.get(name)
        episode = Episode.decode(play(game, GUMBEL, count=1)[0])
        recheck(game, GUMBEL, episode, [])
        with pytest.raises(zf.errors.ZerofleetError, match=what):
            _core.Recheck(game, GUMBEL, "hash", SEED + 1, WORKER, VERSION, episode, [])
        with pytest.raises(zf.errors.ZerofleetError, match="weights 5 played, not 6"):
            _core.Recheck(game, GUMBEL, "hash", SEED, WORKER, VERSION + 1, episode, [])
        with pytest.raises(zf.errors.ZerofleetError, match="names worker 3, not 4"):
            _core.Recheck(game, GUMBEL, "hash", SEED, WORKER + 1, VERSION, episode, [])


def test_more_simulations_than_the_settings_allow_are_found_without_a_search() -> None:
    game = zf.games.get("connect4")
    episode = Episode.decode(play(game, PUCT, count=1)[0])
    with pytest.raises(zf.errors.ZerofleetError, match="simulations; the settings allow"):
        recheck(game, PUCT | {"num_simulations": 12, "fast_simulations": 3}, episode, [])


def test_a_decision_that_was_searched_otherwise_differs() -> None:
    game = zf.games.get("connect4")
    (data,) = play(game, PUCT, count=1)
    episode = Episode.decode(data)
    again = recheck(game, PUCT | {"c_puct": 5.0}, episode, searched(episode))
    while not again.finished:
        again.run(1000)
    assert again.episode() != data


def test_games_that_reuse_trees_and_events_without_a_search_cannot_be_searched_again() -> None:
    game = zf.games.get("connect4")
    episode = Episode.decode(play(game, PUCT, count=1)[0])
    with pytest.raises(zf.errors.ZerofleetError, match="reuse_tree"):
        recheck(game, PUCT | {"reuse_tree": True}, episode, [0])
    with pytest.raises(zf.errors.ZerofleetError, match="event 999 has no search"):
        recheck(game, PUCT, episode, [999])
