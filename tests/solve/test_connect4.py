"""The solver of Connect Four against another solver's scores, and by hand."""

import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import zerofleet as zf
from zerofleet.errors import IllegalAction, Unsupported
from zerofleet.games import Position
from zerofleet.solve import Connect4Solver

SCORES = Path(__file__).parent.parent / "oracles" / "connect4_scores.jsonl"
QUICK_DISCS = 16
"""Positions with so many discs take milliseconds."""
JUDGE = Connect4Solver()


def scored() -> list[dict[str, Any]]:
    return [json.loads(line) for line in SCORES.read_text().splitlines()]


def openings() -> list[dict[str, Any]]:
    """Those with most discs first: they are the easiest."""
    entries = [entry for entry in scored() if len(entry["moves"]) < 9]
    return sorted(entries, key=lambda entry: -len(entry["moves"]))


def sign_of_best(entry: dict[str, Any]) -> int:
    best = int(max(score for score in entry["scores"] if score is not None))
    return (best > 0) - (best < 0)


def refuse_wrong_scores(entries: list[dict[str, Any]]) -> None:
    solver, game = Connect4Solver(), zf.games.get("connect4")
    for entry in entries:
        position = game.from_text(entry["moves"])
        assert solver.scores_to_move(position) == entry["scores"], entry
        assert solver.value_to_move(position) == sign_of_best(entry), entry
        assert solver.plies_to_end(position) == entry["rem"], entry
        best = max(score for score in entry["scores"] if score is not None)
        columns = [at for at, score in enumerate(entry["scores"]) if score == best]
        assert solver.best_columns(position) == columns, entry


def test_it_agrees_with_another_solver() -> None:
    entries = [entry for entry in scored() if len(entry["moves"]) >= QUICK_DISCS]
    assert len(entries) > 100
    assert {sign_of_best(entry) for entry in entries} == {-1, 0, 1}
    refuse_wrong_scores(entries)


@pytest.mark.long
def test_it_agrees_with_another_solver_early_in_the_game() -> None:
    entries = [entry for entry in scored() if 9 <= len(entry["moves"]) < QUICK_DISCS]
    refuse_wrong_scores(entries)


@pytest.mark.long
@pytest.mark.parametrize("entry", openings(), ids=lambda entry: entry["moves"])
def test_it_agrees_with_another_solver_on_an_opening(entry: dict[str, Any]) -> None:
    """With two discs minutes, so each is solved once."""
    position = zf.games.get("connect4").from_text(entry["moves"])
    assert JUDGE.scores_to_move(position) == entry["scores"]


def score_by_playing_out(position: Position, known: dict[str, int]) -> int:
    """22 minus the winner's discs, negative where the player to move loses, by the rules alone."""
    key = str(position.describe())
    if key not in known:
        scores = []
        for column in position.legal_actions():
            after = position.copy()
            after.play(column)
            if after.to_move != zf.OVER:
                scores.append(-score_by_playing_out(after, known))
            else:
                num_discs = len(after.to_text())
                won = bool(after.rewards()[position.to_move])
                scores.append(22 - (num_discs + 1) // 2 if won else 0)
        known[key] = max(scores)
    return known[key]


def test_it_agrees_with_playing_everything_out_late_in_the_game() -> None:
    random, solver, signs = Random(4), Connect4Solver(), set()
    for _ in range(150):
        position = random_position(random, random.randint(32, 41))
        score = score_by_playing_out(position, {})
        assert solver.score_to_move(position) == score, position.to_text()
        signs.add((position.to_move, (score > 0) - (score < 0)))
    assert len(signs) == 6, signs  # both seats win, draw and lose


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


def test_a_value_is_the_distribution_over_outcomes_for_the_player_to_move() -> None:
    game = zf.games.get("connect4")
    assert zf.solve.value(game.from_text("334455")) == [1, 0, 0]
    assert zf.solve.value(game.from_text("33445")) == [0, 0, 1]
    assert zf.solve.value(game.from_text("42153276671172")) == [0, 1, 0]
    assert zf.solve.value(zf.games.get("gomoku", size=9).new_position()) is None
    with pytest.raises(IllegalAction, match="the game is over"):
        zf.solve.value(game.from_text("1212121"))


def random_position(random: Random, num_discs: int) -> Position:
    while True:
        position = zf.games.get("connect4").new_position()
        while position.to_move != zf.OVER and len(position.to_text()) < num_discs:
            position.play(random.choice(position.legal_actions()))
        if position.to_move != zf.OVER:
            return position


def sign_of_value(position: Position, player: int) -> int:
    """In the player's view; of a game that is over, too."""
    if position.to_move == zf.OVER:
        return int(position.rewards()[player])
    value_to_move = JUDGE.value_to_move(position)
    return value_to_move if position.to_move == player else -value_to_move


def play_without_losing_value(num_games: int) -> None:
    """The solver plays in a random seat against random moves, from random positions."""
    random, solver = Random(1), zf.arena.player("connect4", "solver")
    for game in range(num_games):
        position = random_position(random, random.randint(12, 30))
        seat = random.randint(0, 1)
        while position.to_move != zf.OVER:
            if position.to_move != seat:
                position.play(random.choice(position.legal_actions()))
                continue
            before = sign_of_value(position, seat)
            position.play(solver.choose(position, seed=game))
            assert sign_of_value(position, seat) == before, position.to_text()


def test_the_solver_never_loses_a_point_of_value() -> None:
    play_without_losing_value(num_games=60)


@pytest.mark.long
def test_the_solver_never_loses_a_point_of_value_in_a_thousand_games() -> None:
    play_without_losing_value(num_games=1000)


def test_the_solver_wins_as_soon_as_it_can_and_loses_as_late_as_it_can() -> None:
    solver, game = zf.arena.player("connect4", "solver"), zf.games.get("connect4")
    for entry in scored():
        if len(entry["moves"]) >= QUICK_DISCS:
            scores = entry["scores"]
            best = max(score for score in scores if score is not None)
            assert scores[solver.choose(game.from_text(entry["moves"]))] == best, entry


def test_a_game_without_a_perfect_player_says_which_have_one() -> None:
    with pytest.raises(Unsupported, match=r"no perfect player of .*gomoku.*connect4"):
        zf.arena.player("gomoku", "solver")


def test_a_search_that_asks_the_solver_plays_and_reports_its_scores() -> None:
    game = zf.games.get("connect4")
    for entry in scored():
        if len(entry["moves"]) < QUICK_DISCS:
            continue
        position = game.from_text(entry["moves"])
        found = zf.search.analyse(position, num_simulations=4, use_endgame_solver=True)
        assert found.solved, entry
        assert found.value_to_move == sign_of_best(entry), entry
        if found.value_to_move != 0:
            assert found.plies_to_end == entry["rem"], entry
            assert found.best_action in JUDGE.best_columns(position), entry
