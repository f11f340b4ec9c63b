"""A worker that is killed loses no game that it has spooled, and none counts twice."""

import json
from functools import partial

import pytest
from fleet_spoils import die_at
from redis_server import needs_redis

pytestmark = needs_redis
SEND = "zerofleet.bus.redis:RedisBus.send_episodes"


def test_a_worker_killed_during_games_loses_none_that_had_finished(fleet):
    trainer, worker = fleet.trainer(), fleet.worker()
    fleet.wait_for_games()
    trainer.pause()
    fleet.wait_for_flight(20)
    worker.kill()
    in_flight = len(fleet.in_flight())
    trainer.resume()
    again = fleet.worker()
    fleet.wait_for(lambda: "of 1 earlier starts" in again.output, "what the killed one left")
    fleet.wait_for_games()
    assert in_flight >= 20
    print(f"in flight {in_flight}, games {fleet.finish()}")


@pytest.mark.parametrize("when", ["before", "after"])
def test_what_a_worker_killed_while_sending_left_is_sent_by_its_next_start(fleet, tmp_path, when):
    note = tmp_path / "note"
    fleet.trainer()
    for count in (1, 2):
        assert fleet.worker(spoil=partial(die_at, SEND, when, count, note)).ended() == -9
        in_hand = json.loads(note.read_text())["in_hand"]
        assert in_hand > 0
    last = fleet.worker()
    fleet.wait_for(lambda: "earlier starts" in last.output, "what the killed ones left")
    fleet.wait_for_games()
    print(f"in hand {in_hand}, games {fleet.finish()}")
