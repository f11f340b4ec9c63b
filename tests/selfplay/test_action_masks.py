"""Which logits a search reads: what a request to an inference server asks for."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import _core
from zerofleet.errors import BadText, IllegalAction
from zerofleet.infer.wire import asked_for

SETTINGS = {"num_simulations": 16}


def driver_of(game, **settings):
    return _core.SelfPlay(game, SETTINGS | settings, 2, 8, 0, None, 1, 0)


def uniform(game, observations_BN):
    num_rows = len(observations_BN)
    logits_BA = np.zeros((num_rows, game.num_actions), np.float32)
    outcomes_BO = np.full((num_rows, len(game.outcomes)), 1 / len(game.outcomes), np.float32)
    return logits_BA, outcomes_BO


@pytest.mark.parametrize("name", ["connect4", "gomoku", "beastybar", "backgammon"])
def test_no_logit_outside_the_masks_is_read(name):
    game = zf.games.get(name)
    driver = driver_of(game)
    num_asked = 0
    for _ in range(300):
        if (batch := driver.next_batch(0)) is None:
            continue
        group, observations_BN = batch
        asked_BA = asked_for(driver.action_masks(group), game.num_actions)
        assert len(asked_BA) == len(observations_BN)
        num_asked += asked_BA.sum()
        logits_BA, outcomes_BO = uniform(game, observations_BN)
        logits_BA[~asked_BA] = np.nan  # a search that reads one of these ends with a fault
        driver.submit(group, logits_BA, outcomes_BO, 0)
    assert num_asked > 0


def test_a_logit_within_the_masks_is_read():
    game = zf.games.get("connect4")
    driver = driver_of(game)
    group, observations_BN = driver.next_batch(0)
    logits_BA, outcomes_BO = uniform(game, observations_BN)
    asked_BA = asked_for(driver.action_masks(group), game.num_actions)
    assert asked_BA.all()  # at the start of Connect Four all columns are open
    logits_BA[0, 3] = np.nan
    driver.submit(group, logits_BA, outcomes_BO, 0)
    driver.next_batch(0)  # of the other group
    with pytest.raises(BadText, match="not finite"):
        driver.next_batch(0)


def test_afterstates_ask_for_values_alone():
    game = zf.games.get("backgammon")
    driver = driver_of(game, afterstates=True)
    group, _ = driver.next_batch(0)
    assert not driver.action_masks(group).any()


def test_a_group_has_masks_while_its_batch_is_in_flight_only():
    game = zf.games.get("connect4")
    driver = driver_of(game)
    with pytest.raises(IllegalAction, match="group 0 has no batch in flight"):
        driver.action_masks(0)
    group, observations_BN = driver.next_batch(0)
    assert len(driver.action_masks(group)) == len(observations_BN)
    driver.submit(group, *uniform(game, observations_BN), 0)
    with pytest.raises(IllegalAction, match=f"group {group} has no batch in flight"):
        driver.action_masks(group)
    with pytest.raises(IllegalAction, match="group 99 has no batch in flight"):
        driver.action_masks(99)
