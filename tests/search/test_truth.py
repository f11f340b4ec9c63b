"""A win in one is played and a loss in one avoided, wherever they come up in random games.

What wins at once is found by playing it, and proofs are off: the search must see it by its averages
alone. Backgammon, where a turn is several actions, is in test_backgammon_truth.py.
"""

import itertools
import random
from collections.abc import Iterator
from typing import Literal

import pytest

import zerofleet as zf

Root = Literal["puct", "gumbel"]
Evaluator = Literal["uniform", "hash", "playout"]

GAMES = {
    "tic-tac-toe": zf.games.get("gomoku", size=3, line=3),
    "connect4": zf.games.get("connect4"),
    "gomoku, small": zf.games.get("gomoku", size=6, line=4),
    "gomoku, exact": zf.games.get("gomoku", size=6, line=4, rule="exact"),
    "gomoku": zf.games.get("gomoku"),
    "beastybar": zf.games.get("beastybar"),
    "beastybar, animals": zf.games.get("beastybar", scoring="animals"),
}


def after(position: zf.games.Position, action: int) -> zf.games.Position:
    played = position.copy()
    played.play(action)
    return played


def wins_at_once(position: zf.games.Position) -> list[int]:
    player = position.to_move
    ends = {action: after(position, action) for action in position.legal_actions()}
    return [
        action
        for action, end in ends.items()
        if end.to_move == zf.OVER and end.rewards()[player] == 1
    ]


def choices(name: str, num_games: int) -> Iterator[zf.games.Position]:
    """Positions of random games with a choice and no hidden information."""
    rng = random.Random(name)
    for seed in range(num_games):
        position = GAMES[name].new_position(seed)
        while position.to_move != zf.OVER:
            legal = position.legal_actions()
            if len(legal) > 1 and not has_secrets(position):
                yield position
            position = after(position, rng.choice(legal))


def has_secrets(position: zf.games.Position) -> bool:
    """In Beasty Bar: once the piles are used up, what is not on the table is in the hands."""
    return position.game.hidden and position.describe()["piles"] != [[], []]


def true_value(position: zf.games.Position, player: int) -> float:
    """With best play, for the player. Only for the last few plies of a game."""
    if position.to_move == zf.OVER:
        return position.rewards()[player]
    values = [true_value(after(position, action), player) for action in position.legal_actions()]
    return max(values) if position.to_move == player else min(values)


def loses_otherwise(position: zf.games.Position, winning: list[int]) -> bool:
    others = [action for action in position.legal_actions() if action not in winning]
    player = position.to_move
    return all(true_value(after(position, action), player) == -1 for action in others)


# ---- a win in one


def wins_in_one(name: str, num_games: int) -> Iterator[tuple[zf.games.Position, list[int]]]:
    """Positions with the actions that win at once. In Beasty Bar, where the game is about to end
    anyway, only those in which everything else loses."""
    for position in choices(name, num_games):
        winning = wins_at_once(position)
        if winning and (not position.game.hidden or loses_otherwise(position, winning)):
            yield position, winning


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize(
    ("name", "num_games"),
    [
        ("tic-tac-toe", 100),
        ("connect4", 100),
        ("gomoku, small", 20),
        ("gomoku, exact", 20),
        ("gomoku", 3),
        ("beastybar", 500),
        ("beastybar, animals", 500),
    ],
)
def test_a_win_in_one_gets_nine_tenths_of_the_policy(name: str, num_games: int, root: Root) -> None:
    seats = set()
    for position, winning in wins_in_one(name, num_games):
        num_simulations = 25 * len(position.legal_actions())
        analysis = zf.search.analyse(
            position, num_simulations=num_simulations, root=root, prove=False
        )
        assert analysis.best_action in winning, f"{position!r}\n{analysis}"
        assert sum(analysis.policy[action] for action in winning) > 0.9, f"{position!r}\n{analysis}"
        seats.add(position.to_move)
    assert seats == {0, 1}


@pytest.mark.parametrize("name", ["gomoku, small", "beastybar", "beastybar, animals"])
def test_gumbel_finds_a_win_in_one_against_misleading_priors(name: str) -> None:
    seats = set()
    for position, winning in wins_in_one(name, num_games=200):
        num_simulations = 25 * len(position.legal_actions())
        analysis = zf.search.analyse(position, "hash", num_simulations, root="gumbel", prove=False)
        assert analysis.best_action in winning, f"{position!r}\n{analysis}"
        assert sum(analysis.policy[action] for action in winning) > 0.9, f"{position!r}\n{analysis}"
        seats.add(position.to_move)
    assert seats == {0, 1}


# ---- a loss in one


def losses_in_one(name: str, num_games: int) -> Iterator[tuple[zf.games.Position, list[int]]]:
    """Positions with the actions that let the opponent win at once, where others do not. In Beasty
    Bar only where something better than a loss can be had at all."""
    for position in choices(name, num_games):
        if wins_at_once(position):
            continue
        legal, player = position.legal_actions(), position.to_move
        replies = {action: after(position, action) for action in legal}
        losing = [
            action
            for action, reply in replies.items()
            if reply.to_move == 1 - player and wins_at_once(reply)
        ]
        if not 0 < len(losing) < len(legal):
            continue
        if not position.game.hidden or true_value(position, player) > -1:
            yield position, losing


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize(
    ("name", "num_games"),
    [
        ("tic-tac-toe", 100),
        ("connect4", 100),
        ("gomoku, small", 10),
        ("beastybar", 300),
        ("beastybar, animals", 300),
    ],
)
def test_a_loss_in_one_is_avoided(name: str, num_games: int, root: Root) -> None:
    seats = set()
    for position, losing in losses_in_one(name, num_games):
        # Each action's replies must be seen before the first half of the actions is dropped.
        num_simulations = 20 * len(position.legal_actions()) ** 2
        analysis = zf.search.analyse(
            position, num_simulations=num_simulations, root=root, prove=False
        )
        assert analysis.best_action not in losing, f"{position!r}\n{analysis}"
        seats.add(position.to_move)
    assert seats == {0, 1}


# ---- deeper than one ply


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("evaluator", ["uniform", "hash", "playout"])
@pytest.mark.parametrize("name", GAMES)
def test_the_tree_goes_deeper_than_one_ply_where_the_game_does(
    name: str, evaluator: Evaluator, root: Root
) -> None:
    num_positions = 0
    positions = choices(name, num_games=1 if name == "gomoku" else 20)
    for position in itertools.islice(positions, 0, None, 4):
        ends = [after(position, action) for action in position.legal_actions()]
        if any(end.to_move == zf.OVER for end in ends):
            continue
        analysis = zf.search.analyse(position, evaluator, 25 * len(ends), root=root, prove=False)
        assert analysis.depth > 1, f"{position!r}\n{analysis}"
        num_positions += 1
    assert num_positions >= 5


# ---- Gumbel


@pytest.mark.parametrize("num_candidates", [2, 3, 4, 5, 6, 7])
def test_the_last_round_of_halving_is_between_two_actions(num_candidates: int) -> None:
    # Two are always left to be compared, as in mctx; else the last of an odd number goes unopposed.
    analysis = zf.search.analyse(
        GAMES["connect4"].new_position(),
        num_simulations=400,
        root="gumbel",
        max_considered=num_candidates,
    )
    most, second = sorted(analysis.visits.values(), reverse=True)[:2]
    assert most - second <= 1
