"""A run has one trainer: a second is refused, and one that was replaced cannot write any more."""

import shutil
from contextlib import closing
from functools import partial

from fleet_processes import RUN
from fleet_spoils import name_host
from redis_server import needs_redis

pytestmark = needs_redis


def test_a_second_trainer_is_refused_with_the_host_of_the_first(fleet, tmp_path):
    first = fleet.trainer(spoil=partial(name_host, "box-1"))
    fleet.worker()
    fleet.wait_for_games()
    first.pause()
    elsewhere = shutil.copytree(fleet.runs, tmp_path / "elsewhere")
    in_flight = fleet.wait_for_flight()
    first.resume()
    second = fleet.trainer(spoil=partial(name_host, "box-2"), runs=elsewhere)
    assert second.ended() == 2
    assert "box-1 trains this run" in second.output
    fleet.wait_for_games()
    print(f"in flight {in_flight}, games {fleet.finish()}")


def test_a_paused_trainer_that_wakes_while_another_leads_ends_and_changes_nothing(fleet, tmp_path):
    first = fleet.trainer(spoil=partial(name_host, "box-1"))
    fleet.worker()
    fleet.wait_for_games()
    first.pause()
    in_flight = fleet.wait_for_flight(20)
    elsewhere = shutil.copytree(fleet.runs, tmp_path / "elsewhere")
    fleet.trainer(spoil=partial(name_host, "box-2"), runs=elsewhere)
    fleet.wait_for_games(in_flight, runs=elsewhere)
    first.resume()
    assert first.ended() == 2
    assert "box-2 has taken the run over" in first.output
    with closing(fleet.server.client()) as client:
        assert client.hget(f"zf:{{{RUN}}}:trainer", "host") == b"box-2"
    fleet.wait_for_games(runs=elsewhere)
    print(f"in flight {in_flight}, games {fleet.finish(runs=elsewhere)}")
