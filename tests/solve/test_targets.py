"""Value targets by replay.use_solved_values: what zf.solve.value says of the same positions."""

from typing import Any

import pytest
from played_games import played

import zerofleet as zf

OUTCOME_UNIT = 65535


@pytest.mark.parametrize(
    ("name", "options", "num_games"),
    [
        ("connect4", {}, 2_000),
        ("gomoku", {"size": 7}, 6),
        ("backgammon", {}, 6),
        ("backgammon", {"checkers": 1}, 6),
        ("backgammon", {"checkers": 2}, 2),
    ],
    ids=str,
)
def test_an_exact_target_is_what_the_solver_says(
    name: str, options: dict[str, Any], num_games: int
) -> None:
    game, episodes = played(name, num_games, options=tuple(options.items()), num_simulations=8)
    num_rows = num_solved = 0
    for episode in episodes:
        positions = episode.positions(game)
        rows = episode.rows(game, use_solved_values=True)
        assert not episode.rows(game).is_solved.any()
        num_rows += len(rows.event)
        for row in rows.is_solved.nonzero()[0]:
            value = zf.solve.value(positions[rows.event[row]])
            target = rows.search_outcomes[row] / OUTCOME_UNIT
            assert target.tolist() == pytest.approx(value, abs=1 / OUTCOME_UNIT)
            num_solved += 1
    assert num_solved > 10
    if "checkers" in options:
        assert num_solved == num_rows
