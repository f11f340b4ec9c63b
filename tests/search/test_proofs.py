"""What is proven is taught: Connect Four positions whose truth a solver knows, from both seats."""

import json
from pathlib import Path
from typing import Literal

import pytest

import zerofleet as zf

SCORES = Path(__file__).parents[1] / "oracles" / "connect4_scores.jsonl"


def late_positions() -> list[tuple[zf.games.Position, dict[int, int]]]:
    """Positions near their end, with the truth of each legal action: above 0 wins."""
    game = zf.games.get("connect4")
    records = [json.loads(line) for line in SCORES.read_text().splitlines()]
    return [
        (
            game.from_text(record["moves"]),
            {at: score for at, score in enumerate(record["scores"]) if score is not None},
        )
        for record in records
        if record["cat"] == "End-Easy"
    ][:150]


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_targets_have_no_proven_loss_beside_an_open_action_and_only_wins_where_the_root_is_won(
    root: Literal["puct", "gumbel"],
) -> None:
    num_lost = num_won = 0
    seats = set()
    for seed, (position, scores) in enumerate(late_positions()):
        found = zf.search.analyse(
            position,
            "hash",
            num_simulations=128,
            seed=seed,
            root=root,
            dirichlet_epsilon=0.25,
            forced_playouts=2,
        )
        assert sum(found.target.values()) == pytest.approx(1)
        proven = {
            action: value for action, value in found.values_to_move.items() if value in (-1, 1)
        }
        for action, value in proven.items():
            assert scores[action] * value > 0
        lost = [action for action, value in proven.items() if value == -1]
        if found.solved and found.value_to_move == 1:
            num_won += 1
            seats.add(position.to_move)
            assert all(scores[action] > 0 for action, share in found.target.items() if share > 0)
            assert scores[found.best_action] > 0
        elif len(lost) < len(found.target):
            num_lost += len(lost)
            assert all(found.target[action] == 0 for action in lost)
            assert found.best_action not in lost
    assert num_won > 20
    assert num_lost > 5
    assert seats == {0, 1}


@pytest.mark.parametrize("columns", ["66345725615", "25516342713435"])
def test_the_principal_variation_of_a_proven_win_ends_in_it(columns: str) -> None:
    position = zf.games.get("connect4").from_text(columns)
    winner = position.to_move
    found = zf.search.analyse(position, "hash", 600)
    assert found.solved
    assert found.value_to_move == 1
    for action in found.principal_variation:
        position.play(action)
    assert position.to_move == zf.OVER
    assert position.rewards()[winner] == 1
