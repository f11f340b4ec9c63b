"""Proofs shape policy targets: Connect Four positions with values from a solver, from both
seats."""

import json
from pathlib import Path
from typing import Literal

import pytest

import zerofleet as zf

SCORES = Path(__file__).parents[1] / "oracles" / "connect4_scores.jsonl"


def positions_of(category: str) -> list[tuple[zf.games.Position, dict[int, int]]]:
    """Positions whose category ends so, with the truth of each legal action: above 0 wins."""
    game = zf.games.get("connect4")
    records = [json.loads(line) for line in SCORES.read_text().splitlines()]
    return [
        (
            game.from_text(record["moves"]),
            {at: score for at, score in enumerate(record["scores"]) if score is not None},
        )
        for record in records
        if record["cat"].endswith(category)
    ]


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_targets_have_no_proven_loss_beside_an_open_action_and_only_wins_where_the_root_is_won(
    root: Literal["puct", "gumbel"],
) -> None:
    num_lost = num_won = 0
    seats = set()
    for seed, (position, scores) in enumerate(positions_of("End-Easy")):
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


def plies_to_end(position: zf.games.Position, score: int) -> int:
    """Until the winner puts its last disc, if an action of this score is played and then both play
    perfectly: a score says how many of its 21 discs the winner keeps, and one more."""
    first_wins = (position.to_move == 0) == (score > 0)
    num_discs = 2 * (22 - abs(score)) - (1 if first_wins else 0)
    return num_discs - len(position.to_text())


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("num_simulations", [1, 400])
def test_a_proven_win_is_played_the_shortest_way_and_a_proven_loss_the_longest(
    num_simulations: int, root: Literal["puct", "gumbel"]
) -> None:
    num_won = num_lost = 0
    for position, scores in positions_of("Easy"):
        found = zf.search.analyse(position, "hash", num_simulations=num_simulations, root=root)
        plies = {action: plies_to_end(position, score) for action, score in scores.items()}
        wins = [plies[action] for action, score in scores.items() if score > 0]
        if wins and min(wins) == 1:
            assert found.solved
            assert found.principal_variation == [found.best_action]
        if found.solved and found.value_to_move == 1:
            num_won += 1
            assert scores[found.best_action] > 0
            assert plies[found.best_action] == min(wins)
            assert {plies[action] for action, share in found.target.items() if share} == {min(wins)}
        elif found.solved and found.value_to_move == -1:
            num_lost += 1
            assert plies[found.best_action] == max(plies.values())
    assert num_won >= 90
    assert num_lost > 10 or num_simulations == 1


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
