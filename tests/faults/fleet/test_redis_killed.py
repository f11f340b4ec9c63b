"""Redis is killed, with games in it or while a trainer starts, and is started again, with what its
disk has or with nothing."""

from functools import partial

import pytest
from fleet_spoils import kill_before
from redis_server import needs_redis

pytestmark = needs_redis
LONG = pytest.mark.long


@pytest.mark.parametrize(
    "fsync",
    [pytest.param("everysec", marks=LONG), pytest.param("always", marks=LONG), "empty disk"],
)
def test_a_redis_that_was_killed_costs_no_game(fleet_of, fsync):
    policy = "everysec" if fsync == "empty disk" else fsync
    fleet = fleet_of(redis=["--appendonly", "yes", "--appendfsync", policy])
    trainer = fleet.trainer()
    fleet.worker()
    fleet.wait_for_games()
    trainer.pause()
    unread, waiting = fleet.wait_for_unread(), fleet.waiting()
    fleet.server.kill()
    if fsync == "empty disk":
        fleet.server.empty_disk()
    fleet.server.start()
    if fsync != "everysec":  # of the last second it may keep anything
        assert (fleet.waiting() >= waiting) == (fsync == "always")
    trainer.resume()
    fleet.wait_for_games(200)
    resent = 0.0
    if fsync == "empty disk":
        resent = fleet.wait_for(lambda: fleet.counter("a", "resent"), "games sent again")
    print(f"unread in Redis {unread}, resent {resent:.0f}, games {fleet.finish()}")


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("zerofleet.bus.redis:RedisBus.lead", marks=LONG),
        "zerofleet.bus.redis:RedisBus.publish_run",
        pytest.param("zerofleet.bus.redis:RedisBus.set_marks", marks=LONG),
    ],
)
def test_a_trainer_whose_redis_is_killed_while_it_starts_waits_for_it(fleet, point):
    first = fleet.trainer()
    fleet.worker()
    fleet.wait_for_games()
    first.kill()
    in_flight = fleet.wait_for_flight(20)
    fleet.trainer(spoil=partial(kill_before, point, fleet.server.pid))
    fleet.wait_for(lambda: not fleet.server.is_alive, "the end of Redis")
    fleet.server.start()
    fleet.wait_for_games()
    print(f"in flight {in_flight}, games {fleet.finish()}")
