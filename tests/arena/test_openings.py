"""Openings: legal, distinct, balanced, and stating how they were made."""

import re
from typing import Any

import pytest

import zerofleet as zf
from zerofleet.arena.openings import LISTS, openings

BOARDS: list[tuple[str, dict[str, Any]]] = [
    ("connect4", {}),
    ("gomoku", {"size": 9}),
    ("gomoku", {"size": 12}),
    ("gomoku", {"size": 13}),
    ("gomoku", {"size": 15}),
    ("gomoku", {"size": 15, "rule": "exact"}),
    ("gomoku", {"size": 19}),
]


def position_after(game: zf.games.Game, actions: list[int]) -> zf.games.Position:
    position = game.new_position()
    for action in actions:
        position.play(action)
    return position


def can_win_at_once(position: zf.games.Position) -> bool:
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move == zf.OVER and after.rewards()[position.to_move] > 0:
            return True
    return False


@pytest.mark.parametrize(("name", "options"), BOARDS)
def test_hundreds_of_legal_openings_leave_a_game_to_play(
    name: str, options: dict[str, Any]
) -> None:
    game = zf.games.get(name, **options)
    listed = openings(game)
    assert len(listed) >= 200
    for actions in listed:
        position = position_after(game, actions)
        assert position.to_move != zf.OVER
        assert not can_win_at_once(position)


@pytest.mark.parametrize(("name", "options"), BOARDS)
def test_no_opening_is_another_one_turned_or_mirrored(name: str, options: dict[str, Any]) -> None:
    game = zf.games.get(name, **options)
    seen: set[str] = set()
    for actions in openings(game):
        looks = {
            str(position_after(game, [int(by_action[action]) for action in actions]))
            for by_action, _ in game.symmetries
        }
        assert not looks & seen, actions
        seen |= looks


def test_openings_lie_round_the_centre_of_boards_of_other_sizes() -> None:
    for size in range(9, 20):
        game = zf.games.get("gomoku", size=size)
        rows_and_columns = [
            at for actions in openings(game) for cell in actions for at in divmod(cell, size)
        ]
        assert min(rows_and_columns) >= 2
        assert abs(min(rows_and_columns) + max(rows_and_columns) - (size - 1)) <= 1


@pytest.mark.parametrize("path", sorted(LISTS.iterdir()), ids=lambda path: path.name)
def test_a_list_says_how_it_was_made(path: Any) -> None:
    head = [line for line in path.read_text().splitlines() if line.startswith("#")]
    assert f"Made by: scripts/make-openings {path.stem} --judge " in "\n".join(head)


@pytest.mark.parametrize("path", sorted(LISTS.iterdir()), ids=lambda path: path.name)
def test_a_network_with_many_simulations_finds_openings_balanced(path: Any) -> None:
    head, values = path.read_text(), []
    found = re.search(r"--judge best,sims=(\d+) .*--limit (\S+)", head)
    assert found
    assert int(found[1]) >= 1600 or "and that are proven draws" in head
    for line in head.splitlines():
        if not line.startswith("#"):
            values.append(float(line.partition(";")[2]))
    assert max(map(abs, values)) <= float(found[2]) <= 0.15


@pytest.mark.long
def test_the_openings_of_connect_four_are_draws() -> None:
    game = zf.games.get("connect4")
    solver = zf.solve.Connect4Solver()
    listed = [position_after(game, actions) for actions in openings(game)]
    assert {solver.value_to_move(position) for position in listed} == {0}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("backgammon", {}),
        ("beastybar", {}),
        ("gomoku", {"size": 3, "line": 3}),
        ("gomoku", {"size": 8}),
    ],
)
def test_other_games_have_none(name: str, options: dict[str, Any]) -> None:
    assert openings(zf.games.get(name, **options)) == []
