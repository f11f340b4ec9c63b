"""Endings of Beasty Bar: the solver against full search by the rules alone, and search with it."""

from random import Random

import pytest

import zerofleet as zf
from zerofleet.errors import IllegalAction, Unsupported
from zerofleet.games import Position
from zerofleet.solve import BeastyBarSolver

SCORINGS = ("points", "animals")


def random_ending(scoring: str, random: Random) -> Position:
    """A position of a random game, somewhere after the last draw."""
    game = zf.games.get("beastybar", scoring=scoring)
    while True:
        position = game.new_position(random.getrandbits(32))
        endings = []
        while position.to_move != zf.OVER:
            if position.nothing_hidden:
                endings.append(position.copy())
            position.play(random.choice(position.legal_actions()))
        if endings:
            return random.choice(endings)


def reward_to_move(position: Position) -> float:
    """With best play of both, by playing everything out."""
    player = position.to_move
    best = -1.0
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move == zf.OVER:
            reward = after.rewards()[player]
        else:
            reward = reward_to_move(after) * (1 if after.to_move == player else -1)
        best = max(best, reward)
    return best


@pytest.mark.parametrize("scoring", SCORINGS)
def test_a_value_is_that_of_playing_everything_out_in_500_endings(scoring: str) -> None:
    random, seen = Random(3), set()
    for _ in range(500):
        ending = random_ending(scoring, random)
        reward = reward_to_move(ending)
        expected = [float(reward == each) for each in (1, 0, -1)]
        assert zf.solve.value(ending) == expected, ending.to_text()
        seen.add((ending.to_move, reward))
    assert len(seen) == 6, seen  # both seats win, draw and lose


@pytest.mark.parametrize("scoring", SCORINGS)
@pytest.mark.parametrize("seat", [0, 1])
@pytest.mark.parametrize(("wins", "value"), [(True, [1, 0, 0]), (False, [0, 0, 1])])
def test_a_win_in_one_and_a_loss_in_one(
    scoring: str, seat: int, wins: bool, value: list[float]
) -> None:
    front, back = (seat, 1 - seat) if wins else (1 - seat, seat)
    position = zf.games.get("beastybar", scoring=scoring).from_text(
        f"player={seat} queue=skunk{front},parrot{front},seal{back},snake{back} hand{seat}=zebra"
    )
    assert zf.solve.value(position) == value
    assert zf.solve.plies_to_end(position) == 1
    assert zf.solve.best_actions(position) == position.legal_actions()


def test_the_choice_that_wins_is_the_best_action() -> None:
    game = zf.games.get("beastybar")
    position = game.from_text("player=0 queue=lion1,seal1,snake0,skunk0 hand0=parrot,seal")
    best = zf.solve.best_actions(position)
    assert best is not None
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move == zf.OVER:
            reward = after.rewards()[0]
        else:
            reward = reward_to_move(after) * (1 if after.to_move == 0 else -1)
        assert (reward == reward_to_move(position)) >= (action in best)


def test_before_the_last_draw_nothing_is_known() -> None:
    position = zf.games.get("beastybar").new_position(1)
    assert not position.nothing_hidden
    assert zf.solve.value(position) is None
    assert zf.solve.best_actions(position) is None
    assert zf.solve.plies_to_end(position) is None


def test_other_games_and_games_that_are_over_are_refused() -> None:
    with pytest.raises(Unsupported, match="the solver knows beastybar, not gomoku"):
        BeastyBarSolver().score_to_move(zf.games.get("gomoku").new_position())
    over = zf.games.get("beastybar").from_text("player=0 queue=lion1,seal1 hand0=zebra")
    assert over.to_move == zf.OVER
    with pytest.raises(IllegalAction, match="the game is over"):
        BeastyBarSolver().score_to_move(over)


def test_a_search_with_the_solver_is_solved_and_plays_a_best_action() -> None:
    random = Random(5)
    for scoring in SCORINGS:
        for _ in range(20):
            ending = random_ending(scoring, random)
            found = zf.search.analyse(ending, num_simulations=1, use_endgame_solver=True)
            best = zf.solve.best_actions(ending)
            value = zf.solve.value(ending)
            assert best is not None
            assert value is not None
            assert found.solved
            assert found.best_action in best
            assert found.value_to_move == value[0] - value[2]
