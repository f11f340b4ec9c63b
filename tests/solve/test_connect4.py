"""The solver of Connect Four against another solver's scores, and by hand."""

import json
from pathlib import Path
from typing import Any

import pytest

import zerofleet as zf
from zerofleet.errors import IllegalAction, Unsupported
from zerofleet.solve import Connect4Solver

SCORES = Path(__file__).parent.parent / "oracles" / "connect4_scores.jsonl"
QUICK_DISCS = 16
"""Positions with so many discs take milliseconds."""


def scored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SCORES.read_text().splitlines()]


def sign_of_best(entry: dict[str, Any]) -> int:
    best = max(score for score in entry["scores"] if score is not None)
    return (best > 0) - (best < 0)


def solved(entries: list[dict[str, Any]]) -> list[int]:
    solver, game = Connect4Solver(), zf.games.get("connect4")
    return [solver.value_to_move(game.from_text(entry["moves"])) for entry in entries]


def test_it_agrees_with_another_solver() -> None:
    entries = [entry for entry in scored() if len(entry["moves"]) >= QUICK_DISCS]
    assert len(entries) > 100
    assert {sign_of_best(entry) for entry in entries} == {-1, 0, 1}
    assert solved(entries) == [sign_of_best(entry) for entry in entries]


@pytest.mark.long
def test_it_agrees_with_another_solver_early_in_the_game() -> None:
    entries = [entry for entry in scored() if 9 <= len(entry["moves"]) < QUICK_DISCS]
    assert solved(entries) == [sign_of_best(entry) for entry in entries]


@pytest.mark.parametrize(
    ("columns", "value"),
    [
        ("121212", 1),  # four upright
        ("334455", 1),  # four in the lowest row, at either end
        ("3344", 1),  # by three in a row with both ends open
        ("33445", -1),  # both ends cannot be closed
    ],
)
def test_wins_within_three_moves_are_seen(columns: str, value: int) -> None:
    position = zf.games.get("connect4").from_text(columns)
    assert Connect4Solver().value_to_move(position) == value


def test_other_games_and_games_that_are_over_are_refused() -> None:
    with pytest.raises(Unsupported, match="the solver knows connect4, not gomoku"):
        Connect4Solver().value_to_move(zf.games.get("gomoku").new_position())
    with pytest.raises(IllegalAction, match="the game is over"):
        Connect4Solver().value_to_move(zf.games.get("connect4").from_text("1212121"))
