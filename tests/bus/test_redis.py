"""The bus over Redis, where a server can do what memory cannot: die, lose data, fill up, be
shared."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis_server as servers
from redis_server import RedisServer, needs_redis
from redis_users import wait_until

from zerofleet.bus import (
    Block,
    BusFull,
    BusRefused,
    BusUnreachable,
    Delivery,
    NotTheTrainer,
    Pace,
    PublishedWeights,
    RoleEntry,
    Sender,
)
from zerofleet.bus import redis as redis_bus
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.lead import MAX_EPISODE_BYTES, MAX_RECEIVED_ENTRIES
from zerofleet.bus.redis import RedisBus
from zerofleet.errors import BadText, TooLarge, Unsupported

pytestmark = needs_redis
redis_server = servers.redis_server

WORKER, OTHER = Sender("box-1", 7), Sender("box-2", 8)
GAMES = [Delivery(WORKER, number, b"game %d" % number) for number in range(3)]
DURABLE = ["--appendonly", "yes", "--appendfsync"]


@contextmanager
def bus_at(server: RedisServer, host: str = "", timeout_s: float = 15) -> Iterator[RedisBus]:
    """A bus that leads where a host is given."""
    bus = RedisBus(server.address(), "run")
    try:
        if host:
            bus.lead(host, timeout_s)
        yield bus
    finally:
        bus.close()


# ---- the lease


def test_a_second_trainer_is_refused_with_the_firsts_host_until_that_ends(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1"):
        second = RedisBus(redis_server.address(), "run")
        with pytest.raises(
            NotTheTrainer, match=r"^box-1 trains this run; .* start in 1[45]\.\d s$"
        ):
            second.lead("box-2", 15)
        with pytest.raises(NotTheTrainer, match="this process is not it"):
            second.publish_run(b"facts")
    assert second.lead("box-2", 15) == 2  # the first one gave its lease back
    second.close()


PAUSED = """
import sys
from zerofleet.bus import NotTheTrainer, Sender
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus

bus = RedisBus(RedisAddress("127.0.0.1", int(sys.argv[1])), "run")
bus.lead("box-1", 1.0)
print("leads", flush=True)
for number, line in enumerate(sys.stdin, start=1):
    try:
        bus.set_marks({Sender("box-9", 7): number})
        print("marked", flush=True)
    except NotTheTrainer as fault:
        print(fault, flush=True)
"""


def test_a_trainer_paused_beyond_its_lease_still_leads_unless_another_has_led_since(
    redis_server: RedisServer,
) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", PAUSED, str(redis_server.port)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.readline() == "leads\n"
    answers = []
    for does_another_lead in (False, True):
        process.send_signal(servers.PAUSE)
        time.sleep(1.1)
        with bus_at(redis_server) as other:
            if does_another_lead:
                other.lead("box-2", 15)
        process.send_signal(servers.RESUME)
        process.stdin.write("mark\n")
        process.stdin.flush()
        answers.append(process.stdout.readline())
    process.stdin.close()
    process.stdout.close()
    process.wait()
    assert answers[0] == "marked\n"
    assert answers[1].startswith("box-2 has taken the run over: this trainer was silent")
    with bus_at(redis_server) as bus:
        assert bus.mark(Sender("box-9", 7)) == 1


def test_a_disconnected_trainer_does_not_lead_again_once_another_has(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as first:
        client = redis_server.client()
        client.hset(first.keys.trainer, mapping={"token": "another", "host": "box-2", "until": 0})
        first._link.num_breaks += 1  # as if the connection had been lost meanwhile
        with pytest.raises(NotTheTrainer, match="box-2 has taken the run over"):
            wait_until(lambda: first.set_pace(Pace(0, 0)), timeout_s=5)
        client.close()


def test_a_run_that_is_created_again_under_its_name_finds_nothing_of_the_former(
    redis_server: RedisServer,
) -> None:
    former = Delivery(WORKER, 0, b"game", run="a1")
    with bus_at(redis_server) as bus:
        bus.lead("box-1", 15, run_id="a1")
        bus.publish_run(b"facts")
        bus.publish_weights(1, "77ab", b"tensors", at_least=1)
        bus.keep_weights([PublishedWeights(0, 0, "b2c4", b"first tensors")])
        bus.add_blocks([Block("step 1", 0, b"pairs")])
        bus.withdraw([(7, 1)])
        bus.send_episodes([former])
        bus.set_pace(Pace(11, 10))
    with bus_at(redis_server) as bus:
        bus.lead("box-1", 15, run_id="a1")  # the same run: all is there
        assert bus.receive_episodes() == [former]
        assert bus.weights_version() == 1
    with bus_at(redis_server) as bus:
        bus.lead("box-1", 15, run_id="b2")
        client = redis_server.client()
        assert sorted(client.keys()) == [bus.keys.trainer.encode()]
        client.close()
        bus.send_episodes([former])  # by a worker that has not noticed yet
        bus.send_episodes([Delivery(OTHER, 0, b"game", run="b2")])
        assert bus.receive_episodes() == [Delivery(OTHER, 0, b"game", run="b2")]
        assert bus.num_malformed == 1


def test_a_trainer_that_is_silent_counts_as_away(redis_server: RedisServer) -> None:
    with bus_at(redis_server) as worker:
        with bus_at(redis_server, "box-1", timeout_s=0.5) as trainer:
            trainer.set_pace(Pace(11, 10))
            wait_until(lambda: worker.pace() == Pace(11, 10))
        wait_until(lambda: worker.pace() is None)
        assert worker.wait_to_play(0)


def test_the_pace_is_refreshed_without_a_call_of_the_trainer(redis_server: RedisServer) -> None:
    with bus_at(redis_server) as worker, bus_at(redis_server, "box-1", timeout_s=1.5) as trainer:
        trainer.set_pace(Pace(1, 10))
        wait_until(lambda: worker.pace() == Pace(1, 10))
        time.sleep(1.7)
        assert worker.pace() == Pace(1, 10)


def test_a_pace_that_allows_the_same_is_not_announced_for_each_game(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as trainer, redis_server.client().pubsub() as heard:
        trainer.set_pace(Pace(0, 10))
        heard.subscribe(trainer.keys.announce)
        for rows in range(1, 11):
            trainer.set_pace(Pace(rows, 10))
            time.sleep(0.06)  # longer than the pause between two renewals
        trainer.set_pace(Pace(11, 10))
        messages = []
        while not messages or b'"rows_inserted": 11' not in messages[-1]:
            message = heard.get_message(ignore_subscribe_messages=True, timeout=5)
            if message is not None:
                messages.append(message["data"])
        assert len(messages) <= 3


def test_a_worker_whose_connection_is_cut_does_not_return_in_the_same_moment(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zerofleet.bus.link.pause_before", lambda *of: 60.0)
    with bus_at(redis_server) as worker:
        client = redis_server.client()
        wait_until(lambda: client.pubsub_numsub(worker.keys.announce)[0][1] == 1)
        wait_until(lambda: len(client.client_list()) == 3)  # announcements, calls and this client
        num_connections = client.info("stats")["total_connections_received"]
        client.client_kill_filter(_type="pubsub")
        wait_until(lambda: not worker.reachable)
        time.sleep(0.1)
        assert client.info("stats")["total_connections_received"] == num_connections
        start_s = time.monotonic()
    assert time.monotonic() - start_s < 5  # closing does not wait for the pause


# ---- episodes


def test_what_a_trainer_had_not_acknowledged_the_next_receives_first(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as first:
        first.send_episodes(GAMES[:2])
        assert first.receive_episodes() == GAMES[:2]
        first.acknowledge(GAMES[:1])
    with bus_at(redis_server, "box-2") as second:
        second.send_episodes(GAMES[2:])
        assert second.receive_episodes() == GAMES[1:]
        assert second.receive_episodes() == []
        second.acknowledge(GAMES)
        assert second.backlog().num_episodes == 0


def test_a_delivery_that_was_sent_twice_is_acknowledged_twice(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        bus.send_episodes(GAMES)
        bus.send_episodes(GAMES)
        assert bus.receive_episodes() == GAMES + GAMES
        bus.acknowledge(GAMES)
        assert bus.backlog().num_episodes == 0


def test_only_what_is_acknowledged_is_deleted(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        bus.send_episodes(GAMES)
        bus.receive_episodes()
        bus.acknowledge(GAMES[1:])
        assert bus.peek_episodes(10) == GAMES[:1]


def test_a_stream_without_its_group_is_read_from_its_start(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        bus.send_episodes(GAMES)
        bus.receive_episodes()
        client = redis_server.client()
        client.xgroup_destroy(bus.keys.episodes("box-1"), "trainer")
        client.close()
        assert bus.receive_episodes() == GAMES


def test_a_long_backlog_comes_in_parts_in_which_every_worker_has_a_share(
    redis_server: RedisServer,
) -> None:
    many = [Delivery(WORKER, number, b"game") for number in range(MAX_RECEIVED_ENTRIES + 10)]
    with bus_at(redis_server, "box-1") as bus:
        bus.send_episodes(many)
        bus.send_episodes([Delivery(OTHER, 0, b"game")])
        first = bus.receive_episodes()
        assert len(first) <= MAX_RECEIVED_ENTRIES
        assert {each.sender for each in first} == {WORKER, OTHER}
        rest = []
        while part := bus.receive_episodes():
            rest += part
        assert [each for each in first + rest if each.sender == WORKER] == many


def test_large_episodes_come_in_parts_too(redis_server: RedisServer) -> None:
    large = [Delivery(WORKER, number, bytes(MAX_EPISODE_BYTES)) for number in range(20)]
    with bus_at(redis_server, "box-1") as bus:
        bus.send_episodes(large)
        assert len(bus.receive_episodes()) == 16


def test_what_is_no_delivery_is_dropped_and_counted_and_the_rest_arrives(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as bus:
        client = redis_server.client()
        stream = bus.keys.episodes("box-1")
        for fields in (
            {"rubbish": "x"},
            {"incarnation": "7", "number": "-1", "episode": "game", "run": ""},
            {"incarnation": "seven", "number": "1", "episode": "game", "run": ""},
        ):
            client.xadd(stream, fields)
        client.sadd(bus.keys.senders, "nobody", "box-1\n* ")
        client.close()
        bus.send_episodes(GAMES)
        assert bus.receive_episodes() == GAMES
        assert bus.num_malformed == 3
        assert bus.backlog().num_episodes == 3


def test_of_an_oversized_episode_only_enough_to_refuse_it_is_delivered(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as bus:
        client = redis_server.client()
        data = bytes(2 * MAX_EPISODE_BYTES)
        fields = {"incarnation": "7", "number": "1", "episode": data, "run": ""}
        client.xadd(bus.keys.episodes("box-1"), fields)
        client.sadd(bus.keys.senders, "box-1")
        client.close()
        (received,) = bus.receive_episodes()
        assert (received.number, len(received.episode)) == (1, MAX_EPISODE_BYTES + 1)
        assert bus.num_malformed == 0


def test_what_is_no_delivery_is_cleared_and_never_reaches_the_trainer(
    redis_server: RedisServer,
) -> None:
    with bus_at(redis_server, "box-1") as bus:
        client = redis_server.client()
        for incarnation, number in (("seven", "1"), ("7 8", "1"), ("7", "1e300"), ("7", "-1")):
            fields = {"incarnation": incarnation, "number": number, "episode": "", "run": ""}
            client.xadd(bus.keys.episodes(WORKER.worker), fields)
        client.close()
        bus.send_episodes(GAMES[:1])
        assert bus.clear_backlog() == 5
        assert bus.take_cleared() == [(WORKER, 0)]


def test_a_worker_that_spoils_its_stream_harms_no_other(redis_server: RedisServer) -> None:
    last_id = f"{2**64 - 1}-{2**64 - 1}"
    with bus_at(redis_server, "box-1") as bus:
        client = redis_server.client()
        client.xadd(bus.keys.episodes("box-2"), {"rubbish": "x"}, id=last_id)
        client.close()
        with pytest.raises(BusRefused, match="XADD"):
            bus.send_episodes([Delivery(OTHER, 0, b"game")])
        bus.send_episodes(GAMES)
        assert bus.receive_episodes() == GAMES
        bus.send_episodes([Delivery(OTHER, 0, b"game")])  # what it had spoilt is dropped


def test_a_mark_rises_past_what_is_cleared_but_over_no_gap(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        bus.set_marks({WORKER: 1, OTHER: 5})
        bus.send_episodes(GAMES[1:])
        bus.send_episodes([Delivery(OTHER, 6, b"game")])  # 5 was lost on its way
        assert bus.clear_backlog() == 3
        assert (bus.mark(WORKER), bus.mark(OTHER)) == (3, 5)
        assert set(bus.take_cleared()) == {(WORKER, 1), (WORKER, 2), (OTHER, 6)}


def test_what_a_trainer_took_and_had_no_time_to_log_the_next_one_takes(
    redis_server: RedisServer,
) -> None:
    for host in ("box-1", "box-2"):
        with bus_at(redis_server, host) as bus:
            if host == "box-1":
                bus.withdraw([(7, 1)])
            assert bus.take_withdrawals() == [(7, 1)]
    with bus_at(redis_server, "box-3") as bus:
        bus.take_withdrawals()
        assert bus.take_withdrawals() == []
    with bus_at(redis_server, "box-4") as bus:
        assert bus.take_withdrawals() == []


def test_values_above_their_bounds_are_refused(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        with pytest.raises(TooLarge, match=r"episode 0 of box-1: 4,194,305 bytes; .* 4,194,304"):
            bus.send_episodes([Delivery(WORKER, 0, bytes(MAX_EPISODE_BYTES + 1))])
        with pytest.raises(TooLarge, match="the registry entry of box-1"):
            bus.register(RoleEntry("box-1", "worker", "box", "cpu", doing="x" * 100_000))
        with pytest.raises(BadText, match=r"worker 'box\*' cannot be named in Redis"):
            bus.send_episodes([Delivery(Sender("box*", 1), 0, b"game")])


# ---- weights and registry


def test_the_last_five_versions_stay(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        for step in range(1, 8):
            bus.publish_weights(step, "77ab", b"tensors", at_least=step)
        assert [version for version in range(9) if bus.weights(version)] == [3, 4, 5, 6, 7]


def test_a_role_without_heartbeat_is_no_longer_listed(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(redis_bus, "ROLE_TIMEOUT_S", 1)
    with bus_at(redis_server) as bus:
        bus.register(RoleEntry("box-1/0", "worker", "box", "cpu"))
        assert [each.id for each in bus.roles()] == ["box-1/0"]
        wait_until(lambda: bus.roles() == [])


def test_a_registry_entry_that_is_none_is_left_out(redis_server: RedisServer) -> None:
    with bus_at(redis_server) as bus:
        bus.register(RoleEntry("box-1", "worker", "box", "cpu"))
        client = redis_server.client()
        for role_id, data in (("a", b"\xff"), ("b", b'{"id": "box-1"}'), ("c", b"[" * 100_000)):
            client.sadd(bus.keys.roles, role_id)
            client.set(bus.keys.role(role_id), data)
        client.close()
        assert [each.id for each in bus.roles()] == ["box-1"]


def test_a_result_of_no_block_is_left_out(redis_server: RedisServer) -> None:
    with bus_at(redis_server, "box-1") as bus:
        bus.add_blocks([Block("step 40", 0, b"pairs")])
        client = redis_server.client()
        client.hset(bus.keys.results("step 40"), "rubbish", "won")
        client.close()
        assert bus.block_results("step 40") == []
        assert bus.lease_block(60) == Block("step 40", 0, b"pairs")


# ---- a server that dies, forgets, or is full


def test_a_restart_between_loading_a_script_and_calling_it_is_a_lost_connection(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with bus_at(redis_server, "box-1") as bus:
        client = bus._link.client
        load = client.script_load

        def load_and_forget(text: str) -> str:
            sha: str = load(text)
            client.script_flush()
            return sha

        client.script_flush()
        monkeypatch.setattr(client, "script_load", load_and_forget)
        with pytest.raises(BusUnreachable, match="was restarted"):
            bus.publish_run(b"facts")
        monkeypatch.undo()
        wait_until(lambda: bus.reachable)
        bus.publish_run(b"facts")
        assert bus.run_facts() == b"facts"


def test_calls_fail_at_once_while_redis_is_down_and_work_again_after(tmp_path: Path) -> None:
    with (
        RedisServer(tmp_path, *DURABLE, "always") as server,
        bus_at(server, "box-1") as trainer,
        bus_at(server) as worker,
    ):
        trainer.publish_run(b"facts")
        worker.send_episodes(GAMES)
        assert trainer.receive_episodes() == GAMES
        server.kill()
        for bus in (trainer, worker):
            with pytest.raises(BusUnreachable, match=f"redis://127.0.0.1:{server.port}"):
                bus.run_facts()
            wait_until(lambda bus=bus: not bus.reachable)
        start = time.monotonic()
        with pytest.raises(BusUnreachable, match="trying again"):
            worker.send_episodes(GAMES)
        assert time.monotonic() - start < 0.5
        server.start()
        wait_until(lambda: trainer.reachable and worker.reachable)
        assert worker.run_facts() == b"facts"
        wait_until(
            lambda: trainer.receive_episodes() == GAMES
        )  # not acknowledged, so delivered again
        trainer.acknowledge(GAMES)
        assert trainer.backlog().num_episodes == 0


def test_an_emptied_redis_gets_everything_published_again(tmp_path: Path) -> None:
    rated = PublishedWeights(3, 3, "b2c4", b"rated tensors")
    with (
        RedisServer(tmp_path) as server,
        bus_at(server, "box-1") as trainer,
        bus_at(server) as worker,
    ):
        trainer.publish_run(b"facts")
        trainer.publish_graph(b"graph")
        trainer.set_marks({WORKER: 5})
        version = trainer.publish_weights(40, "77ab", b"tensors", at_least=41)
        trainer.keep_weights([rated])
        trainer.add_blocks([Block("step 40", 0, b"pairs")])
        trainer.set_pace(Pace(11, 10))
        server.kill()
        server.start()
        wait_until(lambda: worker.reachable and worker.pace() == Pace(11, 10))
        wait_until(lambda: worker.lease_block(60) is not None)
        assert (worker.run_facts(), worker.graph(), worker.mark(WORKER)) == (b"facts", b"graph", 5)
        newest = worker.weights(version)
        assert newest is not None
        assert (newest.step, newest.sha256, newest.data) == (40, "77ab", b"tensors")
        assert worker.weights(3) == rated
        worker.send_episodes(GAMES)
        assert trainer.receive_episodes() == GAMES
        assert trainer.publish_weights(41, "9f3c", b"later", at_least=0) == version + 1


def test_a_full_redis_refuses_games_and_is_freed_by_acknowledging(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as server, bus_at(server, "box-1") as bus:
        sent = [Delivery(WORKER, number, bytes(20_000)) for number in range(100)]
        bus.send_episodes(sent)
        client = server.client()
        client.config_set("maxmemory", "2mb")
        with pytest.raises(BusFull, match="is full: it has reached its maxmemory"):
            bus.send_episodes(GAMES)
        with pytest.raises(BusFull):
            bus.publish_weights(1, "77ab", b"tensors", at_least=1)
        bus.set_pace(Pace(1, 10))
        wait_until(lambda: client.get(bus.keys.pace) is not None)  # the lease is renewed too
        received = bus.receive_episodes()
        assert received == sent
        bus.set_marks({WORKER: len(sent)})
        bus.acknowledge(received)
        assert (bus.mark(WORKER), bus.backlog().num_episodes) == (len(sent), 0)
        bus.send_episodes(GAMES)
        assert bus.publish_weights(1, "77ab", b"tensors", at_least=1) == 1
        client.close()


def test_tls_and_password(tmp_path: Path) -> None:
    with RedisServer(tmp_path, password="open sesame", tls=True) as server:
        with bus_at(server, "box-1") as bus:
            bus.send_episodes(GAMES)
            assert bus.receive_episodes() == GAMES
        with pytest.raises(BusRefused, match="REDIS_PASSWORD") as refused:
            RedisBus(server.address(password="a guess"), "run")
        assert "a guess" not in str(refused.value)
        unknown = RedisAddress("127.0.0.1", server.port, tls=True, password="open sesame")
        with pytest.raises(BusUnreachable, match="certificate verify failed"):
            RedisBus(unknown, "run")


def test_a_server_that_evicts_is_refused_with_the_fix(tmp_path: Path) -> None:
    with RedisServer(tmp_path, "--maxmemory-policy", "allkeys-lru") as server:
        with pytest.raises(Unsupported, match="CONFIG SET maxmemory-policy noeviction"):
            RedisBus(server.address(), "run")
        client = server.client()
        client.config_set("maxmemory-policy", "noeviction")
        client.close()
        with bus_at(server) as bus:
            assert bus.server.startswith(("Redis ", "Valkey "))


def test_an_unreachable_server_is_named() -> None:
    with pytest.raises(BusUnreachable, match=r"^redis://127\.0\.0\.1:1 cannot be reached: "):
        RedisBus(RedisAddress("127.0.0.1", 1), "run")
