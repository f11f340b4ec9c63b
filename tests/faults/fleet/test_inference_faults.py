"""Inference servers that die, hang or lie under load: workers go on elsewhere, and nothing bad
reaches a game. Real processes around a real Redis."""

from functools import partial

import pytest
from fleet_processes import RUN
from fleet_spoils import answer_with_nan, answer_with_version, keep_old_weights
from redis_server import needs_redis

from zerofleet.bus.redis import RedisBus
from zerofleet.games import Episode

pytestmark = [needs_redis, pytest.mark.long]

FOREIGN = 10**9
TIMEOUT = "fleet.inference_timeout_s=1"


@pytest.fixture
def fleet(fleet_of):
    return fleet_of(TIMEOUT)


def versions_played(fleet):
    """The versions that the events of all spooled games name."""
    episodes = [Episode.decode(data) for data in fleet.watch.records().values()]
    return {event.version for episode in episodes for event in episode.events}


def newest_version(fleet):
    bus = RedisBus(fleet.server.address(), RUN)
    version = bus.weights_version()
    bus.close()
    return version


def requests_of(fleet, server_id):
    return fleet.counter(server_id, "requests")


def wait_for_requests(fleet, server_id, more=20):
    wanted = requests_of(fleet, server_id) + more
    fleet.wait_for(lambda: requests_of(fleet, server_id) >= wanted, f"requests to {server_id}")


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_server_that_is_killed_or_hangs_is_left_for_another_within_the_timeout(fleet, fault):
    fleet.trainer()
    lost, other = fleet.inference("lost"), fleet.inference("other")
    worker = fleet.remote_worker("a")
    for server in ("lost", "other"):
        wait_for_requests(fleet, server)
    getattr(lost, fault)()
    fleet.wait_for(
        lambda: "inference server lost (tcp://127.0.0.1:" in worker.output, "what it says"
    )
    assert "is avoided: no answer within 1 s" in worker.output
    wait_for_requests(fleet, "other")
    fleet.wait_for_games()
    if fault == "pause":
        lost.resume()
        fleet.wait_for(lambda: "inference server lost answers again" in worker.output, "its return")
        lost.stop()
    other.stop()
    worker.stop()
    assert versions_played(fleet) <= set(range(newest_version(fleet) + 1))
    print(f"games {fleet.finish()}")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (partial(answer_with_nan, 20), "has numbers that are not finite"),
        (partial(answer_with_version, FOREIGN, 20), "which the run has not published"),
        (keep_old_weights, "versions behind (fleet.max_versions_behind)"),
    ],
)
def test_lies_of_a_server_are_refused_by_name_and_reach_no_game(fleet_of, spoil, why):
    fleet = fleet_of(TIMEOUT, "fleet.max_versions_behind=3", "train.publish_every_steps=5")
    fleet.trainer()
    liar, honest = fleet.inference("liar", spoil), fleet.inference("honest")
    worker = fleet.remote_worker("a")
    fleet.wait_for(lambda: why in worker.output, "what it says")
    assert "inference server liar (tcp://127.0.0.1:" in worker.output
    wait_for_requests(fleet, "honest")
    fleet.wait_for_games()
    assert worker.exit_status is None
    for role in (worker, liar, honest):
        role.stop()
    assert FOREIGN not in versions_played(fleet)
    fleet.finish()


def test_without_servers_a_worker_waits_says_so_and_goes_on_when_one_comes(fleet):
    fleet.trainer()
    first = fleet.inference("first")
    worker = fleet.remote_worker("a")
    fleet.wait_for_games()
    first.kill()
    fleet.wait_for(lambda: "no inference server answers" in worker.output, "what it says")
    assert "no answer within 1 s" in worker.output
    fleet.wait_for(
        lambda: fleet.roles()["a"].doing.startswith("no inference server"), "the registry to say so"
    )
    fleet.inference("second")
    fleet.wait_for(
        lambda: "inference server second answers again" in worker.output, "the second server"
    )
    fleet.wait_for_games()
    fleet.finish()


def test_with_a_fallback_a_worker_evaluates_by_itself_and_says_so(fleet):
    fleet.trainer()
    server = fleet.inference("i")
    worker = fleet.remote_worker("a", "--fallback")
    wait_for_requests(fleet, "i")
    server.kill()
    fleet.wait_for(lambda: "; evaluating here with weights" in worker.output, "what it says")
    fleet.wait_for_games()
    fleet.wait_for(lambda: fleet.counter("a", "fallback_rows") > 0, "rows evaluated here")
    fleet.inference("j")
    fleet.wait_for(lambda: "inference server j answers again" in worker.output, "its return")
    fleet.finish()


def test_a_server_that_drains_is_left_without_a_timeout(fleet):
    fleet.trainer()
    first = fleet.inference("first")
    worker = fleet.remote_worker("a")
    wait_for_requests(fleet, "first")
    fleet.inference("second")
    wait_for_requests(fleet, "second", more=5)
    first.stop()
    assert "first:" in first.output
    assert "requests answered" in first.output
    wait_for_requests(fleet, "second")
    assert "no answer within" not in worker.output
    assert "first" not in fleet.roles()
    fleet.finish()
