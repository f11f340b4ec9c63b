"""Deliveries that are repeated, delayed or refused for lack of memory: each game counts once."""

import time
from contextlib import closing
from functools import partial

import pytest
from fleet_processes import RUN
from fleet_spoils import send_thrice, take_slowly
from redis_server import needs_redis

pytestmark = needs_redis

MIB = 1 << 20
READ_BYTES = 4096 * 700
"""What Redis notes beside the games that a trainer has read and not acknowledged, at most 4,096."""
SLOW_GAME_S = 0.01
"""What a slow trainer needs for one game; the tests' workers play ten times as many."""


def test_deliveries_that_all_come_three_times_count_once(fleet):
    fleet.trainer()
    fleet.worker(spoil=send_thrice)
    fleet.wait_for_games(300)
    repeated = fleet.wait_for(lambda: fleet.counter("trainer", "duplicates"), "repeated games")
    num_games = fleet.finish()
    with closing(fleet.server.client()) as client:
        num_entries = client.info("commandstats")["cmdstat_xadd"]["calls"]
    assert num_entries >= 3 * num_games
    print(f"repeated {repeated:.0f}, entries {num_entries}, games {num_games}")


@pytest.mark.long
def test_a_trainer_ten_times_too_slow_slows_workers_and_drops_nothing(fleet_of):
    fleet = fleet_of(f"fleet.max_backlog_bytes={MIB}", f"fleet.max_spool_bytes={MIB}")
    slow = fleet.trainer(spoil=partial(take_slowly, SLOW_GAME_S))
    fleet.worker("a")
    fleet.worker("b")
    largest, waiting, in_flight, paused = 0, 0, 0, set()

    def all_have_paused():
        nonlocal largest, waiting, in_flight
        largest = max(largest, backlog_bytes(fleet))
        waiting = max(waiting, fleet.waiting())
        in_flight = max(in_flight, len(fleet.in_flight()))
        found = fleet.roles().values()
        paused.update(role.id for role in found if "spool full" in role.doing)
        return paused == {"a", "b"}

    fleet.wait_for(all_have_paused, "workers that paused with a full spool", patience_s=120)
    assert MIB / 2 < largest < 1.25 * MIB + READ_BYTES
    assert 0 < 1.5 * waiting < in_flight  # the rest stays on the workers' disks
    slow.kill()
    fleet.trainer()
    fleet.wait_for(lambda: not fleet.waiting(), "an empty queue")
    print(f"in flight {in_flight}, in Redis {waiting}: {largest} bytes, games {fleet.finish()}")


def backlog_bytes(fleet):
    """Exactly what the streams of all workers occupy."""
    with closing(fleet.server.client()) as client:
        streams = client.keys(f"zf:{{{RUN}}}:episodes:*")
        return sum(client.memory_usage(each, samples=0) or 0 for each in streams)


@pytest.mark.parametrize(
    ("bound", "why"),
    [
        ("fleet.play_ahead_rows=3000", "rows ahead (fleet.play_ahead_rows)"),
        pytest.param("fleet.max_spool_bytes=1048576", "spool full", marks=pytest.mark.long),
    ],
)
def test_workers_pause_while_the_trainer_is_long_away_and_all_they_played_is_taken_in(
    fleet_of, bound, why
):
    fleet = fleet_of("fleet.play_ahead_rows=1000000", bound)
    trainer = fleet.trainer()
    fleet.worker()
    fleet.wait_for_games()
    trainer.kill()
    fleet.wait_for(lambda: why in fleet.roles()["a"].doing, "a paused worker")
    in_flight = fleet.wait_for(lambda: num_unchanged_in_flight(fleet), "no more games")
    fleet.trainer()
    fleet.wait_for_games(in_flight + 100)
    print(f"in flight {in_flight}, games {fleet.finish()}")


def num_unchanged_in_flight(fleet):
    """Games in flight, if a second passes without another; else 0."""
    before = len(fleet.in_flight())
    time.sleep(1)
    return before if len(fleet.in_flight()) == before else 0


def test_a_redis_out_of_memory_delays_games_and_loses_none(fleet):
    trainer, worker = fleet.trainer(), fleet.worker()
    fleet.wait_for_games()
    trainer.pause()
    unread = fleet.wait_for_unread()
    with closing(fleet.server.client()) as client:
        client.config_set("maxmemory", client.info("memory")["used_memory"])
        fleet.wait_for(
            lambda: "is full: it has reached its maxmemory" in worker.output, "a refusal"
        )
        num_refused = client.info("errorstats")["errorstat_OOM"]["count"]
        trainer.resume()
        fleet.wait_for(lambda: not fleet.waiting(), "a trainer that acknowledges all the same")
        client.config_set("maxmemory", 0)
    fleet.wait_for_games()
    assert num_refused > 0
    print(f"unread in Redis {unread}, calls refused {num_refused}, games {fleet.finish()}")
