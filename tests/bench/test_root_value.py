"""The value that a search stores, against results of games that the shipped weights play."""

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import zerofleet as zf
from zerofleet.infer.load import load_file
from zerofleet.weights.best import find_best

SCRIPT = Path(__file__).parents[2] / "bench" / "search" / "root_value.py"


@pytest.fixture(scope="module")
def root_value() -> ModuleType:
    spec = importlib.util.spec_from_file_location("root_value", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "options", "num_games", "num_simulations"),
    [
        ("beastybar", {}, 40, 16),
        pytest.param("gomoku", {"size": 9}, 20, 64, marks=pytest.mark.long),
    ],
)
def test_what_a_gumbel_search_stores_is_unbiased_and_predicts_better_than_its_network(
    root_value: ModuleType, name: str, options: dict[str, int], num_games: int, num_simulations: int
) -> None:
    game = zf.games.get(name, **options)
    best = find_best(game.name, game.options)
    assert best is not None
    found: dict[str, Any] = root_value.measure(
        game,
        load_file(best.path, game),
        num_games,
        seed=1,
        root="gumbel",
        num_simulations=num_simulations,
    )
    bias = found["stored"]["bias"]
    assert abs(bias["mean"]) < 0.02 + 2 * bias["standard_error"], found
    assert found["mse_stored_minus_network"]["mean"] < 0, found
