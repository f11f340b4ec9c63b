"""Heuristics: stronger than chance, and right where the right move is known."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.arena.heuristics import backgammon
from zerofleet.games.lines import lines_of


@pytest.mark.parametrize(
    ("game", "options", "player", "least", "num_games"),
    [
        ("beastybar", {}, "heuristic", 0.9, 1000),
        ("beastybar", {}, "aggressive", 0.8, 400),
        ("beastybar", {}, "defensive", 0.8, 400),
        ("beastybar", {"scoring": "animals"}, "heuristic", 0.6, 400),
        ("connect4", {}, "heuristic", 0.9, 200),
        ("gomoku", {"size": 9}, "heuristic", 0.9, 100),
        ("gomoku", {"size": 3, "line": 3}, "heuristic", 0.8, 200),
        ("backgammon", {}, "heuristic", 0.9, 100),
        ("backgammon", {"checkers": 3}, "heuristic", 0.5, 400),
    ],
)
def test_a_heuristic_beats_random(game, options, player, least, num_games):
    match = zf.arena.match(game, player, "random", num_games=num_games, **options)
    assert match.interval[0] > least, str(match)


@pytest.mark.parametrize(
    ("text", "column"),
    [
        ("112233", 4),  # X wins
        ("7112233", 4),  # O wins, though X threatens as well
        ("11223", 4),  # O blocks
    ],
)
def test_connect_four_wins_and_blocks(text, column):
    position = zf.games.get("connect4").from_text(text)
    player = zf.arena.player("connect4", "heuristic")
    assert {player.choose(position, seed) for seed in range(20)} == {column - 1}


def test_connect_four_does_not_lift_the_other_to_a_win():
    position = zf.games.get("connect4").from_text("11727233")  # O lacks the second cell of column 4
    player = zf.arena.player("connect4", "heuristic")
    assert 3 not in {player.choose(position, seed) for seed in range(20)}


@pytest.mark.parametrize(
    ("text", "move"),
    [
        ("c5 b5 d5 c7 e5 e7 f5 h8", "g5"),  # X completes four
        ("c5 b5 d5 c7 e5 e7 f5", "g5"),  # O blocks four
        ("a1 c5 a9 d5 i1 e5 i9 f5 b5 c3", "g5"),  # X blocks four before anything else
    ],
)
def test_gomoku_wins_and_blocks(text, move):
    position = zf.games.get("gomoku", size=9).from_text(text)
    player = zf.arena.player(position.game, "heuristic")
    chosen = {player.choose(position, seed) for seed in range(20)}
    assert {position.action_text(action) for action in chosen} == {move}


def test_all_lines_of_a_board_are_counted():
    assert len(lines_of((6, 7), 4)) == 69
    assert len(lines_of((15, 15), 5)) == 572
    assert len(lines_of((3, 3), 3)) == 8


@pytest.mark.parametrize(
    ("dice", "play"), [("31", "8/5 6/5"), ("42", "8/4 6/4"), ("61", "13/7 8/7")]
)
def test_backgammon_makes_the_points_that_everybody_makes(dice, play):
    position = zf.games.get("backgammon").from_text(f"4HPwATDgc/ABMA {dice}")
    expected = position.copy()
    position.game.play_from_text(expected, play)
    player = zf.arena.player("backgammon", "heuristic")
    mover = position.to_move
    while position.to_move == mover:
        position.play(player.choose(position))
    assert position == expected


def test_backgammon_ends_a_game_that_is_won():
    """However far the opponent is from home: 4/2 with the 2 would leave a checker."""
    points = [0] * 24
    points[4 - 1] = points[2 - 1] = 1
    points[0] -= 14  # the opponent's, 24 points from home; one is off, so there is no gammon
    position = zf.games.get("backgammon").from_describe(
        {"points": points, "player": 0, "dice": [4, 2]}
    )
    player = zf.arena.player("backgammon", "heuristic")
    while position.to_move == 0:
        position.play(player.choose(position))
    assert position.to_move == zf.OVER


def test_what_is_good_for_one_is_bad_for_the_other():
    """A checker on the bar is worth less than one in play, for both players."""
    rows = np.zeros((3, 62), np.uint8)
    rows[:, 5], rows[:, 26 + 18] = 10, 10  # both have ten on their six points
    rows[0, 7] = 1  # own checker on the eight point
    rows[1, 24] = 1  # own checker on the bar
    rows[2, 26 + 24] = 1  # the opponent's on the bar
    free, own_on_bar, other_on_bar = backgammon.values(rows)
    assert own_on_bar < free < other_on_bar
