"""Inference servers that die, hang or lie under load: workers go on elsewhere, and nothing bad
reaches a game. Real processes around a real Redis."""

import time
from contextlib import closing
from functools import partial

import pytest
from fleet_processes import RUN
from fleet_spoils import answer_with_nan, answer_with_version, keep_old_weights
from redis_server import needs_redis
from strangers import MAX_GROWTH_BYTES, REQUESTS, memory_of, sent_to

from zerofleet.bus.redis import RedisBus
from zerofleet.games import Episode
from zerofleet.infer.sockets import KEY_FILE, make_key_files

pytestmark = [needs_redis, pytest.mark.long]

FIRST, FOREIGN = 1, 10**9
"""The version that a run begins with, and one that it never publishes."""
TIMEOUT_S = 1.0
WORKERS = ("a", "b")
LOAD = (
    f"fleet.inference_timeout_s={TIMEOUT_S:g}",
    "selfplay.num_groups=3",  # as many requests of each worker are in flight
    "replay.segment_bytes=1048576",  # no spool file is deleted before the watch has seen it
)
ZMQ_GREETING = b"\xff" + bytes(8) + b"\x7f\x03\x00NULL".ljust(23, b"\0") + bytes(32)
"""Of ZMTP 3.0, without security."""
LONG_FRAME = b"\x02" + (1 << 40).to_bytes(8, "big") + bytes(1 << 16)
"""The head of a frame of a terabyte, and its first bytes."""
SLOTS = 3 * 32
"""Concurrent games of a worker."""
NOTICED_S = TIMEOUT_S + 1.5
"""In which a worker on a busy machine sees that a request is overdue, and says so."""


@pytest.fixture
def fleet(fleet_of):
    return fleet_of(*LOAD)


def versions_played(fleet, ids=None):
    """The versions that the events of spooled games name; of all, or of these."""
    records = fleet.watch.records()
    episodes = [Episode.decode(records[each]) for each in (ids or records)]
    return {event.version for episode in episodes for event in episode.events}


def begun_after(fleet, before):
    """Games of which no move was played when only those before were spooled. A slot's next game has
    a number that is higher by the number of slots; a few that had ended were not spooled yet."""
    last = {}
    for game in before:
        last[game.incarnation] = max(last.get(game.incarnation, 0), game.sequence)
    return {
        game
        for game in fleet.spooled() - before
        if game.sequence > last.get(game.incarnation, 0) + 4 * SLOTS
    }


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


def assert_struck(fleet, name="remote_retries"):
    """Of some worker's requests in flight, or of answers, so many met the fault."""
    fleet.wait_for(lambda: sum(fleet.counter(each, name) for each in WORKERS) > 0, name)


@pytest.mark.parametrize("fault", ["kill", "pause"])
def test_a_server_that_is_killed_or_hangs_is_left_for_another_within_the_timeout(fleet, fault):
    fleet.trainer()
    lost, other = fleet.inference("lost"), fleet.inference("other")
    workers = [fleet.remote_worker(each) for each in WORKERS]
    for server in ("lost", "other"):
        wait_for_requests(fleet, server)
    getattr(lost, fault)()
    struck_s, num_games = time.monotonic(), len(fleet.spooled())
    fleet.wait_for(
        lambda: any("inference server lost (tcp://127.0.0.1:" in each.output for each in workers),
        "what they say",
    )
    noticed_s = time.monotonic() - struck_s
    assert noticed_s < NOTICED_S
    assert any("is avoided: no answer within 1 s" in each.output for each in workers)
    fleet.wait_for(lambda: len(fleet.spooled()) > num_games + SLOTS, "games after it", NOTICED_S)
    assert_struck(fleet)
    wait_for_requests(fleet, "other")
    fleet.wait_for_games()
    if fault == "pause":
        lost.resume()
        again = "inference server lost answers again"
        fleet.wait_for(lambda: any(again in each.output for each in workers), "its return")
        lost.stop()
    for worker in workers:
        worker.stop()
    other.stop()
    assert versions_played(fleet) <= set(range(newest_version(fleet) + 1))
    print(f"noticed after {noticed_s:.2f} s, games {fleet.finish()}")


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (partial(answer_with_nan, 20), "has numbers that are not finite"),
        (partial(answer_with_version, FOREIGN, 20), "which the run has not published"),
        (keep_old_weights, "versions behind (fleet.max_versions_behind)"),
    ],
)
def test_lies_of_a_server_are_refused_by_name_and_reach_no_game(fleet_of, spoil, why):
    fleet = fleet_of(*LOAD, "fleet.max_versions_behind=3", "train.publish_every_steps=5")
    fleet.trainer()
    liar, honest = fleet.inference("liar", spoil), fleet.inference("honest")
    workers = [fleet.remote_worker(each) for each in WORKERS]
    fleet.wait_for(lambda: all(why in each.output for each in workers), "what they say")
    before = fleet.spooled()
    for worker in workers:
        assert "inference server liar (tcp://127.0.0.1:" in worker.output
    assert_struck(fleet, "remote_refused")
    wait_for_requests(fleet, "honest")
    later = fleet.wait_for(lambda: begun_after(fleet, before), "games that began later")
    fleet.wait_for_games()
    for role in (*workers, liar, honest):
        assert role.exit_status is None
        role.stop()
    assert FOREIGN not in versions_played(fleet)
    if spoil is keep_old_weights:
        assert FIRST in versions_played(fleet)  # while it was new
        assert FIRST not in versions_played(fleet, later)
    fleet.finish()


def test_without_servers_a_worker_waits_says_so_and_goes_on_when_one_comes(fleet):
    fleet.trainer()
    first = fleet.inference("first")
    worker = fleet.remote_worker("a")
    fleet.wait_for_games()
    first.kill()
    struck_s = time.monotonic()
    fleet.wait_for(lambda: "no inference server answers" in worker.output, "what it says")
    assert "no answer within 1 s" in worker.output
    assert time.monotonic() - struck_s < NOTICED_S
    assert_struck(fleet)
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
    assert_struck(fleet)
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


def test_a_stranger_at_the_port_of_a_server_breaks_nothing_and_takes_no_memory(fleet, tmp_path):
    keys = {}
    for name, text in zip(("server", "worker"), make_key_files(), strict=True):
        (tmp_path / name).write_text(text)
        keys[name] = {KEY_FILE: str(tmp_path / name)}
    fleet.trainer()
    server = fleet.inference("i", environment=keys["server"])
    workers = [fleet.remote_worker(each, environment=keys["worker"]) for each in WORKERS]
    wait_for_requests(fleet, "i", more=300)
    with closing(RedisBus(fleet.server.address(), RUN)) as bus:
        (offer,) = bus.inference_offers()
    host, _, port = offer.address.removeprefix("tcp://").rpartition(":")
    before, connections = memory_of(server), []
    try:
        for request in [*REQUESTS.values(), ZMQ_GREETING, ZMQ_GREETING + LONG_FRAME] * 8:
            connections.append(sent_to((host, int(port)), request))
        wait_for_requests(fleet, "i", more=300)
        growth = memory_of(server) - before
        assert growth < MAX_GROWTH_BYTES
    finally:
        for connection in connections:
            connection.close()
    fleet.wait_for_games()
    for worker in workers:
        assert "is avoided" not in worker.output
    assert fleet.counter("i", "requests_refused") == 0
    print(f"{len(connections)} connections, growth {growth >> 20} MiB, games {fleet.finish()}")
