"""Self-play by afterstate evaluation instead of search."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import _core
from zerofleet.arena.players import values_of
from zerofleet.arena.simple_players import GreedyPlayer
from zerofleet.errors import Unsupported
from zerofleet.infer import make_evaluator

GAME = zf.games.get("backgammon", checkers=3)
REWARDS = np.array([outcome.reward for outcome in GAME.outcomes])
NO_LUCK = {"afterstates": True, "temperature": 0, "final_temperature": 0}


def episodes_of(evaluator, num_games):
    driver = _core.SelfPlay(GAME, NO_LUCK, 1, num_games, 0, None, 1, 0)
    episodes = []
    while len(episodes) < num_games:
        batch = driver.next_batch(0)
        if batch is not None:
            group, observations = batch
            driver.submit(group, *evaluator(observations), 0)
        episodes += driver.take_episodes()
    driver.stop()
    return [zf.games.Episode.decode(data) for data in episodes]


def test_what_is_played_is_what_the_greedy_player_plays():
    evaluator = make_evaluator(zf.nets.build(GAME, "tiny").eval(), device="cpu")
    greedy = GreedyPlayer("greedy", lambda rows: values_of(evaluator, GAME, rows))
    num_decisions = [0, 0]
    for episode in episodes_of(evaluator, 6):
        for position, event in zip(episode.positions(GAME), episode.events, strict=False):
            if event.kind == "full":
                assert greedy.choose_many([position], [1]) == [event.id]
                num_decisions[position.to_move] += 1
    assert min(num_decisions) > 10


def test_the_value_found_is_that_of_the_mover():
    """With every end certainly lost for who rolls there, every decision is certainly won."""

    def roller_loses(rows):
        logits = np.zeros((len(rows), GAME.num_actions), np.float32)
        outcomes = np.zeros((len(rows), len(GAME.outcomes)), np.float32)
        outcomes[:, int(np.argmin(REWARDS))] = 1
        return logits, outcomes

    for episode in episodes_of(roller_loses, 2):
        for event in episode.events:
            if event.kind == "full":
                assert np.array(event.outcomes_to_move) @ REWARDS > 0.99


def test_a_game_with_hidden_hands_is_refused():
    with pytest.raises(Unsupported, match="afterstates is for games in which nothing is hidden"):
        _core.SelfPlay(zf.games.get("beastybar"), NO_LUCK, 1, 1, 0, None, 1, 0)
