"""Concurrent searches: each finds what it would find alone."""

import random

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.errors import BadText, IllegalAction, Inconsistent


def positions_of(name, count, **options):
    """Positions of random games in which a player is to move."""
    game = zf.games.get(name, **options)
    rng = random.Random(5)
    found = []
    while len(found) < count:
        position = game.new_position(rng.randrange(1000))
        for _ in range(rng.randrange(20)):
            if position.to_move == zf.OVER:
                break
            chances = [outcome for outcome, _ in position.chance_outcomes()]
            position.play(rng.choice(position.legal_actions() or chances))
        if position.to_move in (0, 1):
            found.append(position)
    return found


def by_arithmetic(game):
    """An evaluator whose answer to a row depends on that row alone."""
    rng = np.random.default_rng(3)
    policy = rng.normal(size=(game.observation_bytes, game.num_actions))
    outcome = rng.normal(size=(game.observation_bytes, len(game.outcomes)))

    def evaluate(observations):
        logits, raw = [], []
        for row in observations.astype(float):  # row by row: a batch must not change the sums
            logits.append(np.sin(row @ policy))
            raw.append(np.exp(np.sin(row @ outcome)))
        outcomes = np.array(raw)
        outcomes /= outcomes.sum(axis=1, keepdims=True)
        return np.array(logits, np.float32), outcomes.astype(np.float32)

    return evaluate


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("name", ["connect4", "backgammon", "beastybar"])
def test_searched_together_or_alone_gives_the_same(name, root):
    positions = positions_of(name, 12)
    seeds = list(range(12))
    evaluate = by_arithmetic(positions[0].game)
    for evaluator in (evaluate, "playout"):
        together = zf.search.search_many(positions, evaluator, 40, seeds, root)
        for position, seed, result in zip(positions, seeds, together, strict=True):
            alone = zf.search.analyse(position, evaluator, 40, seed, root)
            assert result.best_action == alone.best_action
            assert dict(zip(result.actions, result.visits, strict=True)) == alone.visits
            assert result.value_to_move == alone.value_to_move


def test_all_unfinished_searches_are_in_one_batch():
    positions = positions_of("connect4", 10)
    evaluate = by_arithmetic(positions[0].game)
    sizes = []

    def counting(observations):
        sizes.append(len(observations))
        return evaluate(observations)

    zf.search.search_many(positions, counting, 30, list(range(10)))
    assert sizes[0] == 10
    assert len(sizes) <= 31 + 2  # the root, thirty simulations, and ends of games in between


def test_what_does_not_belong_together_is_refused():
    connect4, gomoku = zf.games.get("connect4"), zf.games.get("gomoku")
    with pytest.raises(Inconsistent, match="positions of two games: connect4 and gomoku"):
        zf.search.search_many([connect4.new_position(), gomoku.new_position()], "hash", 5, [1, 2])
    with pytest.raises(BadText, match="1 seeds for 2 positions"):
        zf.search.search_many([connect4.new_position()] * 2, "hash", 5, [1])
    with pytest.raises(IllegalAction, match="the game is over"):
        zf.search.search_many([connect4.from_text("4141414")], "hash", 5, [1])
