"""What every bus promises, tested on each implementation."""

import threading
import time
from collections.abc import Iterator

import pytest
from redis_server import RedisServer, needs_redis
from redis_users import BusOfUsers, server_with_users, wait_until

from zerofleet.bus import (
    Block,
    BlockResult,
    Bus,
    Delivery,
    InferenceOffer,
    MemoryBus,
    Pace,
    PublishedWeights,
    RoleEntry,
    Sender,
)
from zerofleet.bus.redis import RedisBus

REDIS = ["redis", "redis with a user per role"]
WORKER, OTHER = Sender("box-1", 2**64 - 1), Sender("box-2", 8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with server_with_users(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(params=["memory", *(pytest.param(each, marks=needs_redis) for each in REDIS)])
def bus(request: pytest.FixtureRequest) -> Iterator[Bus]:
    if request.param == "memory":
        yield MemoryBus()
        return
    server = request.getfixturevalue("server")
    server.client().flushall()
    if request.param == "redis":
        bus = RedisBus(server.address(), "run")
        bus.lead("this host", timeout_s=15)
    else:
        bus = BusOfUsers(server)
    yield bus
    bus.close()


def test_episodes_arrive_once_in_the_order_in_which_they_were_sent(bus: Bus) -> None:
    sent = [Delivery(WORKER, number, b"game %d" % number) for number in range(3)]
    bus.send_episodes(sent[:2])
    bus.send_episodes(sent[2:])
    assert bus.receive_episodes() == sent
    assert bus.receive_episodes() == []
    bus.acknowledge(sent)


def test_a_mark_is_of_one_sender_and_never_falls(bus: Bus) -> None:
    assert bus.mark(WORKER) == 0
    bus.set_marks({WORKER: 5, OTHER: 2})
    bus.set_marks({WORKER: 3})
    assert (bus.mark(WORKER), bus.mark(OTHER)) == (5, 2)


def test_a_server_reports_its_memory_which_holds_the_backlog(bus: Bus) -> None:
    bus.send_episodes([Delivery(WORKER, 0, bytes(100_000))])
    if (server := bus.server_figures()) is not None:
        assert server.memory_bytes > bus.backlog().num_bytes > 100_000
        assert server.max_memory_bytes >= 0


def test_withdrawals_are_taken_once(bus: Bus) -> None:
    bus.withdraw([(7, 1), (7, 4)])
    assert bus.take_withdrawals() == [(7, 1), (7, 4)]
    assert bus.take_withdrawals() == []


def test_published_weights_are_seen_until_one_has_their_version(bus: Bus) -> None:
    assert (bus.other_weights(0), bus.weights_version()) == (None, None)
    assert bus.publish_weights(300, "77ab", b"tensors", at_least=300) == 300
    assert bus.weights_version() == 300
    newest = bus.other_weights(0)
    assert newest is not None
    assert (newest.version, newest.step, newest.sha256) == (300, 300, "77ab")
    assert newest.data == b"tensors"
    time.sleep(0.01)
    later = bus.other_weights(0)
    assert later is not None
    assert 0 <= newest.age_s < later.age_s < 30
    assert bus.other_weights(300) is None


def test_a_version_never_repeats(bus: Bus) -> None:
    bus.publish_weights(300, "77ab", b"tensors", at_least=300)
    # A trainer restored from an older checkpoint makes the steps since then again.
    assert bus.publish_weights(200, "9f3c", b"other tensors", at_least=200) == 301
    newest = bus.other_weights(300)
    assert newest is not None
    assert (newest.version, newest.step) == (301, 200)


def test_weights_are_found_by_version_while_they_are_the_newest_or_kept(bus: Bus) -> None:
    start = PublishedWeights(0, 0, "b2c4", b"first tensors")
    rated = bus.publish_weights(300, "77ab", b"tensors", at_least=300)
    newest = bus.weights(rated)
    assert newest is not None
    bus.keep_weights([start, newest])
    for step in range(301, 311):
        bus.publish_weights(step, "9f3c", b"later tensors", at_least=step)
    assert (bus.weights(0), bus.weights(rated)) == (start, newest)
    bus.keep_weights([start])
    assert (bus.weights(0), bus.weights(rated)) == (start, None)
    assert bus.other_weights(310) is None  # what is kept does not play


def test_facts_of_weights_are_known_without_fetching_them(bus: Bus) -> None:
    assert bus.weights_facts() is None
    bus.publish_weights(7, "aa", b"first", at_least=7)
    bus.keep_weights([PublishedWeights(3, 3, "cc", b"kept")])
    bus.publish_weights(9, "bb", b"seconds", at_least=9)
    time.sleep(0.1)
    found = bus.weights_facts()
    assert found is not None
    assert (found.version, found.step, found.num_bytes) == (9, 9, 7)
    assert found.age_s >= 0.05
    assert found.num_kept >= 2  # a server also keeps the versions before


def test_facts_and_graph_of_the_run_are_seen_once_published(bus: Bus) -> None:
    assert bus.run_facts() is None
    assert bus.graph() is None
    bus.publish_run(b"facts")
    bus.publish_graph(b"graph")
    assert (bus.run_facts(), bus.graph()) == (b"facts", b"graph")


def test_an_announcement_ends_a_wait(bus: Bus) -> None:
    timer = threading.Timer(0.05, bus.publish_weights, [1, "77ab", b"tensors", 1])
    timer.start()
    start = time.monotonic()
    bus.wait_for_news(60)
    assert time.monotonic() - start < 30
    timer.join()


def test_the_backlog_is_what_is_sent_and_not_acknowledged(bus: Bus) -> None:
    assert bus.backlog().num_episodes == 0
    sent = [Delivery(WORKER, number, b"game") for number in range(3)]
    bus.send_episodes(sent)
    bus.receive_episodes()
    bus.acknowledge(sent[:1])
    assert bus.backlog().num_episodes == 2
    assert bus.backlog().num_bytes > 0


def test_the_age_of_a_backlog_is_of_the_oldest_that_still_waits(bus: Bus) -> None:
    sent = [Delivery(WORKER, number, b"game") for number in range(2)]
    bus.send_episodes(sent[:1])
    time.sleep(0.1)
    second_s = time.monotonic()
    bus.send_episodes(sent[1:])
    assert bus.backlog().oldest_s >= 0.1
    bus.receive_episodes()
    bus.acknowledge(sent[:1])
    for oldest_s in (bus.backlog().oldest_s, bus.receipt(WORKER).oldest_waiting_s):
        assert oldest_s < time.monotonic() - second_s + 0.05  # of the first: 0.1 s more
    bus.acknowledge(sent[1:])
    assert bus.backlog().oldest_s == 0
    assert bus.receipt(WORKER).oldest_waiting_s == 0


def test_the_backlog_of_each_worker_adds_up_to_all(bus: Bus) -> None:
    assert bus.backlog_by_worker() == {}
    restarted = Sender(WORKER.worker, 3)
    bus.send_episodes([Delivery(WORKER, 0, b"game"), Delivery(restarted, 0, b"game")])
    bus.send_episodes([Delivery(OTHER, number, b"game") for number in range(3)])
    time.sleep(0.02)
    of_other = [each for each in bus.receive_episodes() if each.sender == OTHER]
    bus.acknowledge(of_other[:2])
    found, total = bus.backlog_by_worker(), bus.backlog()
    assert {worker: each.num_episodes for worker, each in found.items()} == {"box-1": 2, "box-2": 1}
    assert sum(each.num_bytes for each in found.values()) == total.num_bytes
    assert all(0.01 < each.oldest_s < 60 for each in found.values())
    receipt = bus.receipt(restarted)
    assert found["box-1"].oldest_s <= receipt.oldest_waiting_s < 60
    assert (receipt.waiting_bytes, receipt.num_senders) == (found["box-1"].num_bytes, 2)


def test_peeking_shows_the_newest_that_wait_and_takes_nothing(bus: Bus) -> None:
    sent = [Delivery(WORKER, number, b"game %d" % number) for number in range(4)]
    bus.send_episodes(sent[:2])
    bus.acknowledge(bus.receive_episodes()[:1])
    bus.send_episodes(sent[2:])
    assert bus.peek_episodes(10) == sent[1:]  # one is pending, two are not received
    assert bus.peek_episodes(2) == sent[2:]
    assert bus.peek_episodes(0) == []
    assert bus.receive_episodes() == sent[2:]
    assert bus.backlog().num_episodes == 3


def test_what_is_cleared_is_marked_and_reported_to_the_trainer(bus: Bus) -> None:
    bus.send_episodes([Delivery(WORKER, number, b"game") for number in range(3)])
    assert bus.clear_backlog() == 3
    assert bus.receive_episodes() == []
    assert bus.mark(WORKER) == 3
    assert bus.take_cleared() == [(WORKER, 0), (WORKER, 1), (WORKER, 2)]
    assert bus.take_cleared() == []


def test_one_worker_or_all_are_held_until_resumed(bus: Bus) -> None:
    bus.hold("box-1", "new fans")
    assert (bus.held("box-1"), bus.held("box-2")) == ("new fans", "")
    bus.hold("", "upgrade")
    assert (bus.held("box-1"), bus.held("box-2")) == ("upgrade", "upgrade")
    bus.hold("", "")
    bus.hold("box-1", "")
    assert (bus.held("box-1"), bus.held("box-2")) == ("", "")


@pytest.mark.parametrize(
    ("pace", "allowed"),
    [
        (Pace(rows_inserted=10, rows_allowed=10), True),
        (Pace(rows_inserted=11, rows_allowed=10), False),
        (Pace(rows_inserted=1, rows_allowed=10, paused="the disk is full"), False),
    ],
)
def test_play_is_allowed_as_far_as_the_pace_says(bus: Bus, pace: Pace, allowed: bool) -> None:
    assert bus.wait_to_play(0)  # as long as no pace is set
    bus.set_pace(pace)
    assert bus.wait_to_play(0) == allowed
    assert bus.pace() == pace


def test_a_new_pace_wakes_those_that_wait(bus: Bus) -> None:
    bus.set_pace(Pace(rows_inserted=11, rows_allowed=10))
    timer = threading.Timer(0.05, bus.set_pace, [Pace(rows_inserted=11, rows_allowed=20)])
    timer.start()
    assert bus.wait_to_play(10)
    timer.join()


def test_the_registry_lists_roles_with_what_they_have_done_last(bus: Bus) -> None:
    first = RoleEntry("worker-1", "worker", "box", "cpu", counters={"games": 1})
    later = RoleEntry("worker-1", "worker", "box", "cpu", counters={"games": 5})
    trainer = RoleEntry("trainer", "trainer", "box", "cuda:0")
    for entry in (first, trainer, later):
        bus.register(entry)
    assert bus.roles() == [trainer, later]
    bus.unregister("trainer")
    assert bus.roles() == [later]


def test_a_heartbeat_is_as_old_as_the_last_registration(bus: Bus) -> None:
    assert bus.heartbeats() == {}
    entry = RoleEntry("worker-1", "worker", "this host", "cpu")
    bus.register(entry)
    time.sleep(0.3)
    (before,) = bus.heartbeats().values()
    assert before >= 0.25
    bus.register(entry)
    assert bus.heartbeats()["worker-1"] < before
    bus.unregister("worker-1")
    time.sleep(0.01)
    assert bus.heartbeats() == {}


def test_a_worker_finds_the_inference_servers_that_take_requests(bus: Bus) -> None:
    assert bus.inference_offers() == []
    moved = InferenceOffer("gpu", "tcp://10.0.0.5:7000", "k" * 40)
    for offer in (InferenceOffer("gpu", "tcp://10.0.0.5:6999"), moved):
        bus.offer_inference(offer)
    assert bus.inference_offers() == [moved]
    bus.end_offer("gpu")
    wait_until(lambda: bus.inference_offers() == [])


def test_the_last_five_published_versions_are_known_newest_first(bus: Bus) -> None:
    assert bus.recent_versions() == []
    for version in (3, 40, 41, 50, 60, 61):
        bus.publish_weights(version, "hash", b"tensors", at_least=version)
    assert bus.recent_versions() == [61, 60, 50, 41, 40]


def test_a_block_is_leased_once_and_again_after_its_lease(bus: Bus) -> None:
    blocks = [Block("step 40", number, b"pairs") for number in range(2)]
    bus.add_blocks(blocks)
    assert [bus.lease_block(60), bus.lease_block(1), bus.lease_block(60)] == [*blocks, None]
    time.sleep(1.01)
    assert bus.lease_block(60) == blocks[1]  # its holder did not report


def test_a_block_counts_once_by_its_number(bus: Bus) -> None:
    bus.add_blocks([Block("step 40", number, b"pairs") for number in range(2)])
    assert bus.finish_block(BlockResult("step 40", 1, b"won"))
    assert not bus.finish_block(BlockResult("step 40", 1, b"lost"))
    assert bus.finish_block(BlockResult("step 40", 0, b"drawn"))
    assert [each.result for each in bus.block_results("step 40")] == [b"drawn", b"won"]
    assert bus.block_results("step 80") == []
    assert bus.lease_block(60) is None


def test_a_returned_block_is_free_at_once_and_says_why(bus: Bus) -> None:
    block = Block("step 40 against gnubg-1", 0, b"pairs")
    bus.add_blocks([block])
    assert bus.lease_block(60) == block
    bus.return_block(block, "box-1 has no gnubg")
    assert bus.lease_block(60, without=[block.rating]) is None
    assert bus.lease_block(60) == block
    bus.return_block(block, "box-1 has no gnubg")
    assert bus.lease_block(60) == block
    bus.return_block(block, "")
    assert bus.lease_block(60) == block
    assert bus.block_returns(block.rating) == ["box-1 has no gnubg"]
    assert bus.block_returns("step 80") == []


def test_blocks_that_are_added_again_keep_their_leases_and_results(bus: Bus) -> None:
    blocks = [Block("step 40", number, b"pairs") for number in range(3)]
    bus.add_blocks(blocks)
    assert bus.lease_block(60) == blocks[0]
    bus.finish_block(BlockResult("step 40", 1, b"won"))
    bus.add_blocks(blocks)
    assert [bus.lease_block(60), bus.lease_block(60)] == [blocks[2], None]
    assert [each.number for each in bus.block_results("step 40")] == [1]


def test_a_dropped_match_is_neither_leased_nor_counted(bus: Bus) -> None:
    bus.add_blocks([Block(rating, 0, b"pairs") for rating in ("step 40", "step 80")])
    old = bus.lease_block(60)
    assert old is not None
    assert old.rating == "step 40"
    assert bus.ratings() == ["step 40", "step 80"]
    bus.drop_blocks("step 40")
    assert bus.ratings() == ["step 80"]
    assert not bus.finish_block(BlockResult("step 40", 0, b"won"))
    assert bus.block_results("step 40") == []
    assert bus.lease_block(60) == Block("step 80", 0, b"pairs")
    bus.add_blocks([old])
    assert bus.lease_block(60) == old


def test_a_worker_has_room_until_its_share_of_the_backlog_is_used(bus: Bus) -> None:
    assert bus.reachable
    assert bus.receipt(WORKER).room_bytes(10_000) == 10_000
    bus.send_episodes([Delivery(WORKER, 0, bytes(10_000))])
    assert bus.receipt(WORKER).room_bytes(10_000) <= 0
    room = bus.receipt(WORKER).room_bytes(60_000)
    assert 0 < room <= 50_000
    bus.send_episodes([Delivery(OTHER, 0, b"game")])
    assert bus.receipt(WORKER).room_bytes(60_000) == room - 30_000


def test_a_receipt_knows_the_mark_of_one_start_only(bus: Bus) -> None:
    bus.set_marks({WORKER: 7})
    assert bus.receipt(WORKER).mark == bus.mark(WORKER) == 7
    assert bus.receipt(Sender(WORKER.worker, WORKER.incarnation + 1)).mark == 0


def test_the_end_of_the_run_is_seen_by_all(bus: Bus) -> None:
    assert not bus.stopping
    bus.end_run()
    assert bus.stopping


def test_stop_is_seen_by_all(bus: Bus) -> None:
    assert not bus.stopping
    bus.stop()
    assert bus.stopping
