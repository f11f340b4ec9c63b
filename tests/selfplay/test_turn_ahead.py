"""Value targets that look a turn ahead."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import _core
from zerofleet._core import pack_rows
from zerofleet.arena.players import values_of
from zerofleet.config import Config, ReplayConfig
from zerofleet.errors import Unsupported
from zerofleet.infer import make_evaluator
from zerofleet.replay import ReplayBuffer, Sampler

GAME = zf.games.get("backgammon", checkers=3)
REWARDS = np.array([outcome.reward for outcome in GAME.outcomes])
OPPOSITE = [outcome.opposite for outcome in GAME.outcomes]


def episodes_of(probability, evaluator="hash", num_episodes=30):
    played = zf.selfplay.play(
        GAME,
        evaluator,
        num_episodes=num_episodes,
        afterstates=True,
        turn_ahead_probability=probability,
    )
    return [zf.games.Episode.decode(data) for data in played]


def looks_ahead(event):
    return event.kind == "chance" and bool(event.outcomes_to_move)


@pytest.mark.parametrize("probability", [0.0, 0.3, 1.0])
def test_as_many_rolls_have_a_value_as_the_setting_says(probability):
    events = [
        event for episode in episodes_of(probability, num_episodes=400) for event in episode.events
    ]
    rolls = [looks_ahead(event) for event in events if event.kind == "chance"]
    spread = np.sqrt(probability * (1 - probability) / len(rolls))
    assert np.mean(rolls) == pytest.approx(probability, abs=4 * spread)


def test_the_value_is_the_expectation_of_the_best_afterstates_for_the_player_who_rolls():
    evaluator = make_evaluator(zf.nets.build(GAME, "tiny").eval(), device="cpu")

    def value_of(position, player):
        """In the player's view, after a roll: of its best afterstate; of what follows otherwise."""
        if position.to_move != player:
            other = 1 - player
            return -values_of(evaluator, GAME, np.array([position.observe(other)]))[0]
        ends = _core.afterstates([position], [1], 1)
        values = ends.observer_sign * values_of(evaluator, GAME, ends.observations)
        return np.where(ends.over, ends.reward, values).max()

    num_by_roller = [0, 0]
    for episode in episodes_of(1.0, evaluator, num_episodes=1):
        positions = episode.positions(GAME)
        for at in range(1, len(episode.events)):
            if not looks_ahead(episode.events[at]):
                continue
            roller = positions[at].describe()["player"]
            expected = 0.0
            for roll, probability in positions[at].chance_outcomes():
                rolled = positions[at].copy()
                rolled.play(roll)
                expected += probability * value_of(rolled, roller)
            found = np.array(episode.events[at].outcomes_to_move) @ REWARDS
            assert found == pytest.approx(expected, abs=2e-3)
            num_by_roller[roller] += 1
    assert min(num_by_roller) > 0


def test_a_turn_ahead_value_is_the_target_of_its_row_and_of_the_forced_actions_before_it():
    num_forced = 0
    for episode in episodes_of(0.5):
        rows = episode.rows(GAME, 0.9)
        for row, event in enumerate(episode.events):
            assert rows.event[row] == row
            if not looks_ahead(event):
                continue
            expected = np.array(event.outcomes_to_move)
            assert rows.search_outcomes[row] / 65535 == pytest.approx(expected, abs=2e-5)
            if row > 0 and episode.events[row - 1].kind == "none":
                turned = expected[OPPOSITE]
                assert rows.search_outcomes[row - 1] / 65535 == pytest.approx(turned, abs=2e-5)
                num_forced += 1
    assert num_forced > 10


def test_rows_that_look_ahead_are_drawn_as_often_as_their_weight_says():
    buffer = ReplayBuffer(GAME, 100_000)
    episodes = episodes_of(0.5)
    buffer.add(pack_rows(GAME, episodes, 0.9))
    num_ahead = sum(looks_ahead(event) for episode in episodes for event in episode.events)
    assert buffer.rows_C["looks_ahead"].sum() == num_ahead
    sampler = Sampler(buffer, GAME, ReplayConfig(turn_ahead_weight=5), seed=1)
    drawn = np.concatenate([sampler.sample(1000).rows_B["looks_ahead"] for _ in range(50)])
    share = num_ahead / len(buffer)
    assert drawn.mean() == pytest.approx(5 * share / (1 + 4 * share), abs=0.01)


@pytest.mark.parametrize(
    ("game", "afterstates", "named"),
    [
        (GAME, False, "turn_ahead_probability needs afterstates"),
        (zf.games.get("connect4"), True, "is for games with dice, not for connect4"),
    ],
)
def test_it_is_refused_where_it_would_have_no_effect(game, afterstates, named):
    settings = {"turn_ahead_probability": 0.5, "afterstates": afterstates}
    with pytest.raises(Unsupported, match=named):
        next(iter(zf.selfplay.play(game, "hash", num_episodes=1, **settings)))


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"selfplay": {"turn_ahead_probability": 0.5}}, "needs selfplay.afterstates=true"),
        ({"replay": {"turn_ahead_weight": 2}}, "needs selfplay.turn_ahead_probability"),
    ],
)
def test_settings_that_would_have_no_effect_are_refused(settings, named):
    with pytest.raises(ValueError, match=named):
        Config.model_validate({"game": {"name": "backgammon"}, **settings})
