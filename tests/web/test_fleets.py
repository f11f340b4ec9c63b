"""The fleet of a run, over a real Redis and as a made-up view."""

import time
from contextlib import closing
from pathlib import Path

import httpx
import pytest
from made_up_fleet import fleet_status, role, usual_roles
from redis_server import RedisServer, needs_redis

from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.monitor import FleetMonitor
from zerofleet.web.fleets import answer_of


@needs_redis
def test_a_fleet_is_shown_while_its_redis_answers_and_named_when_it_does_not(
    api: httpx.Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with RedisServer(tmp_path, password="secret-of-redis") as server:
        monkeypatch.setenv("REDIS_URL", f"redis://:secret-of-redis@127.0.0.1:{server.port}")
        with closing(RedisBus(server.address(), "ttt")) as bus:
            for each in (role("trainer", "trainer", 10), role("worker", "box", 10)):
                bus.register(each)
        fleet = api.get("/fleet", params={"run": "ttt"}).json()
        assert (fleet["is_reachable"], fleet["reason"]) == (True, "")
        assert [each["id"] for each in fleet["roles"]] == ["box", "trainer"]
        assert fleet["queue"]["num_episodes"] == 0
        assert "secret-of-redis" not in api.get("/fleet", params={"run": "ttt"}).text
        server.kill()
        end_s = time.monotonic() + 20
        while fleet["is_reachable"] and time.monotonic() < end_s:
            time.sleep(0.2)
            answer = api.get("/fleet", params={"run": "ttt"})
            fleet = answer.json()
        assert not fleet["is_reachable"]
        assert fleet["reason"]
        assert "secret-of-redis" not in answer.text
        assert [each["id"] for each in fleet["roles"]] == ["box", "trainer"]  # as last seen


def test_what_stands_still_or_is_gone_is_in_trouble() -> None:
    monitor = FleetMonitor()
    monitor.look(fleet_status(10, usual_roles(10)), 10)
    stuck = role("worker", "box-0", 10)  # its counters have not moved
    later = [stuck, *(each for each in usual_roles(20) if each.id not in ("box-0", "box-1"))]
    found = answer_of("c4", monitor.look(fleet_status(20, later), 20), "")
    troubles = {each.id: each.trouble for each in found.roles}
    assert troubles["box-0"] == "stands still"
    assert troubles["box-1"] == "gone"
    assert troubles["box-2"] == ""
    (worker,) = (each for each in found.roles if each.id == "box-2")
    assert worker.per_s == pytest.approx(24_000)
    assert (worker.unit, worker.version) == ("simulations/s", 412)
    assert found.newest_version == 412
    assert {each.name for each in found.totals} >= {"games", "samples"}
