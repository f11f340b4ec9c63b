"""bench/gpu, as far as it runs without a GPU: games/s count games that end."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.infer.make import make_evaluator, make_pipeline

BENCH = Path(__file__).parents[2] / "bench"
GAME = zf.games.get("connect4")


@pytest.fixture
def selfplay(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("gpu.selfplay")


@pytest.fixture
def whole_games(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(BENCH))
    return importlib.import_module("gpu.whole_games")


def test_a_decision_of_a_whole_game_takes_as_many_simulations_as_were_asked_for(whole_games):
    size = whole_games.size_of_a_game(GAME, {"num_simulations": 6})
    assert size.simulations == pytest.approx(6 * size.decisions)
    assert 7 <= size.decisions <= 42  # a win takes four stones of one side, the board has 42 cells
    half = whole_games.size_of_a_game(
        GAME, {"num_simulations": 6, "full_search_probability": 0.5, "fast_simulations": 2}
    )
    assert half.simulations == pytest.approx(4 * half.decisions, rel=0.15)


def test_games_per_second_count_the_games_that_end_where_many_do(selfplay):
    torch.manual_seed(1)
    evaluator = make_evaluator(nets.build(GAME, "tiny"), "torch", "cpu")
    settings = {"num_simulations": 1, **selfplay.RANDOM}
    for seconds in (1.0, 4.0, 16.0):  # as long as a busy machine needs for several games of each
        pipeline = make_pipeline(evaluator, selfplay.NUM_GROUPS, 4)
        found = selfplay.measure_games(GAME, settings, pipeline, 4, seconds)
        if found["decisions_of_each_game"] > 100:
            break
    else:
        pytest.skip("the machine is too busy for several games of each")
    assert found["games_per_s"] == pytest.approx(found["finished_games_per_s"], rel=0.3)
    assert found["spread_share"] == 1
    assert "caution" not in found


def test_a_window_that_is_too_short_says_so(whole_games):
    assert whole_games.caution(1.0, 3.0) == {}
    assert "19% of an even spread" in whole_games.caution(0.19, 3.0)["caution"]
    assert "0.5 decisions" in whole_games.caution(1.0, 0.5)["caution"]


def test_samples_per_row_are_fewer_than_samples_per_position_where_a_position_gives_two_rows(
    monkeypatch: pytest.MonkeyPatch, whole_games: ModuleType
) -> None:
    monkeypatch.syspath_prepend(str(BENCH))
    overlap = importlib.import_module("gpu.overlap")
    per_s = {"simulations": 10, "samples": 8}
    per_s |= dict.fromkeys(["training_s", "intake_s", "search_s", "busy_s"], 0)
    game = whole_games.GameSize(decisions=10, simulations=100, leaves=100)
    found = overlap.trained("by_rows", per_s, game, rows_per_position=2)
    assert found["samples_per_position_by_rows"] == 8
    assert found["samples_per_row_by_rows"] == 4
