"""The check of a game, from Python."""

import os
import signal
import threading

import pytest

import zerofleet as zf


@pytest.mark.parametrize("name", zf.games.names())
def test_every_game_keeps_the_contract(name: str) -> None:
    game = zf.games.get(name)
    report = zf.games.check(game, num_games=100)
    assert report.num_games == 100
    assert 0 < report.longest <= game.max_plies
    assert (report.num_resampling_tests > 0) == game.hidden


@pytest.mark.parametrize("num_games", [0, 1, 16, 17, 40])
def test_as_many_games_are_played_as_were_asked_for(num_games: int) -> None:
    told: list[int] = []
    report = zf.games.check(zf.games.get("connect4"), num_games=num_games, on_progress=told.append)
    assert report.num_games == num_games
    assert told == sorted(set(told))
    assert told[-1:] == [num_games][: len(told)]


def test_the_same_seed_plays_the_same_games() -> None:
    game = zf.games.get("connect4")
    first, second, other = (zf.games.check(game, 50, seed=seed) for seed in (1, 1, 2))
    assert first.num_plies == second.num_plies != other.num_plies


def test_ctrl_c_gets_through_while_the_core_works() -> None:
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        zf.games.check(zf.games.get("gomoku"), num_games=10**12)
    timer.join()
