"""A trainer that is killed between any two of its actions loses no game and counts none twice."""

import json
from functools import partial
from itertools import product

import pytest
from fleet_spoils import die_at
from redis_server import needs_redis

pytestmark = needs_redis

ACTIONS = {
    "read": "zerofleet.bus.redis:RedisBus.receive_episodes",
    "take in": "zerofleet.replay.intake:Intake.take",
    "log": "zerofleet.replay.log:EpisodeLog.append",
    "fsync": "zerofleet.replay.log:EpisodeLog.sync",
    "mark": "zerofleet.bus.redis:RedisBus.set_marks",
    "acknowledge": "zerofleet.bus.redis:RedisBus.acknowledge",
    "step": "zerofleet.training.trainer:Trainer.step",
    "publish": "zerofleet.bus.redis:RedisBus.publish_weights",
    "keep weights": "zerofleet.weights:WeightsStore.publish",
    "checkpoint": "zerofleet.training.checkpoint:CheckpointStore.save",
}
WITH_GAMES = ("take in", "log", "mark", "acknowledge")
"""Calls that are given games or their marks."""
POINTS = list(product(ACTIONS, ("before", "after")))
QUICK = [("log", "after"), ("mark", "after"), ("checkpoint", "before")]


def test_a_trainer_killed_after_logging_marking_and_before_a_checkpoint_loses_nothing(
    fleet_of, tmp_path
):
    kill_at(QUICK, fleet_of, tmp_path)


@pytest.mark.long
def test_a_trainer_killed_at_any_of_20_points_loses_nothing(fleet_of, tmp_path):
    assert len(POINTS) == 20
    kill_at(POINTS, fleet_of, tmp_path)


def kill_at(points, fleet_of, tmp_path):
    fleet = fleet_of("fleet.trainer_timeout_s=1", "train.checkpoint_every_steps=5")
    fleet.worker()
    for number, (action, when) in enumerate(points):
        note = tmp_path / f"note-{number}"
        # The second call is the first that comes while it trains: a start logs and marks, too.
        trainer = fleet.trainer(spoil=partial(die_at, ACTIONS[action], when, 2, note))
        assert trainer.ended() == -9, (action, when)
        struck = json.loads(note.read_text())
        assert struck["point"] == f"{when} {ACTIONS[action]}"
        assert struck["in_hand"] > 0 or action not in WITH_GAMES
        # A worker that has played ahead as far as it may waits with games that are logged and not
        # marked: what is in flight then is their confirmation.
        rows = fleet.wait_for(
            lambda: fleet.counter("a", "unconfirmed_rows"), "games that the worker thinks in flight"
        )
        in_flight = len(fleet.in_flight())
        print(f"{when} {action}: in hand {struck['in_hand']}, in flight {in_flight}, {rows=:.0f}")
    fleet.trainer()
    fleet.wait_for_games()
    print(f"games {fleet.finish()}")
