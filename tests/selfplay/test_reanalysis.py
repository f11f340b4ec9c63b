"""Games searched again: the same actions, with the targets of a fresh search."""

import random
from collections.abc import Mapping

import numpy as np
import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import _core, metrics
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.games import Episode, Game

SEED, VERSION = 7, 5
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
    game: Game, settings: Mapping[str, object], evaluator: str, version: int, worker: int = 99
) -> list[bytes]:
    driver = _core.SelfPlay(
        game, dict(settings), 1, 2, 0, evaluator, SEED, worker, None, version, 100, 2
    )
    while not driver.finished:
        driver.wait_for_episodes(2, 1.0)
    return driver.take_episodes()


def searched_again(
    game: Game, settings: Mapping[str, object], evaluator: str, episodes: list[bytes]
) -> list[bytes]:
    again = _core.Reanalysis(game, dict(settings), evaluator, SEED, VERSION, episodes)
    while not again.finished:
        again.run(1000)
    return again.episodes()


@pytest.mark.parametrize(("name", "settings"), CASES)
def test_with_the_weights_that_played_all_targets_are_as_they_were(
    name: str, settings: dict[str, object]
) -> None:
    game = zf.games.get(name)
    episodes = play(game, settings, "hash", VERSION)
    assert searched_again(game, settings, "hash", episodes) == episodes


@pytest.mark.parametrize("settings", [PUCT | {"reuse_tree": True}, GUMBEL])
def test_with_other_weights_the_game_stays_and_its_targets_are_new(
    settings: dict[str, object],
) -> None:
    game = zf.games.get("connect4")
    episodes = play(game, settings, "uniform", VERSION - 1)
    for before, after in zip(
        map(Episode.decode, episodes),
        map(Episode.decode, searched_again(game, settings, "hash", episodes)),
        strict=True,
    ):
        after.verify(game)
        assert [each.id for each in before.events] == [each.id for each in after.events]
        assert [each.kind for each in before.events] == [each.kind for each in after.events]
        old, new = before.rows(game), after.rows(game)
        assert (old.observations == new.observations).all()
        assert (old.policy != new.policy).any()
        assert (old.search_outcomes != new.search_outcomes).any()
        assert {each.version for each in after.events if each.outcomes_to_move} == {VERSION}
        # A fresh search of a single decision, by the same seed, says the same.
        alone = settings | {"reuse_tree": False}
        again = searched_again(game, alone, "hash", [before.encode()])
        assert again == [after.encode()]


def test_an_illegal_game_is_not_searched() -> None:
    game = zf.games.get("connect4")
    episodes = play(game, GUMBEL, "hash", VERSION)
    with pytest.raises(ZerofleetError):
        _core.Reanalysis(zf.games.get("gomoku"), GUMBEL, "hash", SEED, VERSION, episodes)


# ---- in a run


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    return tmp_path


def last_status(run):
    return [each for each in metrics.read(run.folder) if each["kind"] == "status"][-1]


def test_a_run_searches_the_share_again_and_counts_no_new_rows(folder):
    settings = [*TINY_RUN, "replay.reanalyse_share=0.5", "replay.samples_per_row=4"]
    run = zf.train("tictactoe", run="again", steps=60, settings=settings)
    status = last_status(run)
    assert 16 <= status["reanalysed_games"] <= status["games"]
    assert status["reanalysed_rows"] > 0
    assert status["reanalysis_s"] > 0
    # The ratio is of new rows alone.
    assert status["samples"] == 60 * 32
    assert status["samples"] <= 4 * status["rows"]


def test_a_run_without_it_searches_nothing_again(folder):
    run = zf.train("tictactoe", run="once", steps=10, settings=TINY_RUN)
    status = last_status(run)
    assert status["reanalysed_games"] == status["reanalysed_rows"] == status["reanalysis_s"] == 0


def test_a_deterministic_run_refuses_it(folder):
    settings = [*TINY_RUN, "run.deterministic=true", "replay.reanalyse_share=0.5"]
    with pytest.raises(BadText, match="reanalyse_share"):
        zf.train("tictactoe", run="never", steps=10, settings=settings)


def test_targets_are_replaced_where_their_rows_still_are(tmp_path):
    game = zf.games.get("connect4")
    config = zf.config.ReplayConfig(capacity_rows=200, min_rows=1, reanalyse_share=0.5)
    replay = zf.replay.Replay(tmp_path / "log", game, config, seed=1)
    episodes = play(game, GUMBEL, "uniform", VERSION - 1)
    replay.accept(episodes)
    finals = replay.buffer.rows_C["final"].copy()
    games = replay.sample_episodes(10, random.Random(1))
    assert sorted(each.data for each in games) == sorted(episodes)
    num_added, limiter = replay.buffer.num_added, replay.limiter.state
    again = searched_again(game, GUMBEL, "hash", [each.data for each in games])
    replay.replace(games, again)
    assert (replay.buffer.num_added, replay.limiter.state) == (num_added, limiter)
    assert (replay.buffer.rows_C["final"] == finals).all()
    for each, data in zip(games, again, strict=True):
        expected = Episode.decode(data).rows(game)
        rows = replay.buffer.rows_C[each.first : each.end]
        assert (rows["policy"] == expected.policy).all()
        assert (rows["search_outcomes"] == expected.search_outcomes).all()
        assert (rows["observation"] == expected.observations).all()
    # An episode whose rows have left the buffer changes nothing.
    for worker in range(20):
        replay.accept(play(game, GUMBEL, "uniform", VERSION, worker=worker))
    before = replay.buffer.rows_C.copy()
    replay.replace(games, again)
    assert np.array_equal(replay.buffer.rows_C, before)
    replay.close()
