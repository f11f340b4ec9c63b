"""What every bus promises, tried on each implementation."""

import threading
import time

import pytest

from zerofleet.bus import (
    Block,
    BlockResult,
    Bus,
    Delivery,
    MemoryBus,
    Pace,
    PublishedWeights,
    RoleEntry,
)

WORKER, OTHER = 7, 8


@pytest.fixture(params=[MemoryBus])
def bus(request: pytest.FixtureRequest) -> Bus:
    made: Bus = request.param()
    return made


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


def test_withdrawals_are_taken_once(bus: Bus) -> None:
    bus.withdraw([(WORKER, 1), (WORKER, 4)])
    assert bus.take_withdrawals() == [(WORKER, 1), (WORKER, 4)]
    assert bus.take_withdrawals() == []


def test_published_weights_are_seen_until_one_has_their_version(bus: Bus) -> None:
    assert bus.other_weights(0) is None
    first = PublishedWeights(3, 300, "77ab", b"tensors")
    bus.publish_weights(first)
    assert bus.other_weights(0) == first
    assert bus.other_weights(3) is None
    lower = PublishedWeights(2, 200, "9f3c", b"older tensors")  # of a trainer that was restored
    bus.publish_weights(lower)
    assert bus.other_weights(3) == lower


@pytest.mark.parametrize(
    ("pace", "allowed"),
    [
        (Pace(rows_inserted=10, rows_allowed=10), True),
        (Pace(rows_inserted=11, rows_allowed=10), False),
        (Pace(rows_inserted=1, rows_allowed=10, paused="the disk is full"), False),
    ],
)
def test_play_is_allowed_as_far_as_the_pace_says(bus: Bus, pace: Pace, allowed: bool) -> None:
    assert bus.wait_to_play(0)  # as long as nobody has set one
    bus.set_pace(pace)
    assert bus.wait_to_play(0) == allowed


def test_a_new_pace_wakes_whoever_waits(bus: Bus) -> None:
    bus.set_pace(Pace(rows_inserted=11, rows_allowed=10))
    timer = threading.Timer(0.05, bus.set_pace, [Pace(rows_inserted=11, rows_allowed=20)])
    timer.start()
    assert bus.wait_to_play(10)
    timer.join()


def test_the_registry_lists_roles_with_what_they_have_done_last(bus: Bus) -> None:
    first = RoleEntry("worker-1", "worker", "box", "cpu", {"games": 1})
    later = RoleEntry("worker-1", "worker", "box", "cpu", {"games": 5})
    trainer = RoleEntry("trainer", "trainer", "box", "cuda:0", {})
    for entry in (first, trainer, later):
        bus.register(entry)
    assert bus.roles() == [trainer, later]
    bus.unregister("trainer")
    assert bus.roles() == [later]


def test_a_block_is_leased_once_and_again_after_its_lease(bus: Bus) -> None:
    blocks = [Block("step 40", number, b"pairs") for number in range(2)]
    bus.add_blocks(blocks)
    assert [bus.lease_block(60), bus.lease_block(0.02), bus.lease_block(60)] == [*blocks, None]
    time.sleep(0.03)
    assert bus.lease_block(60) == blocks[1]  # its holder did not report


def test_a_block_counts_once_by_its_number(bus: Bus) -> None:
    bus.add_blocks([Block("step 40", number, b"pairs") for number in range(2)])
    assert bus.finish_block(BlockResult("step 40", 1, b"won"))
    assert not bus.finish_block(BlockResult("step 40", 1, b"lost"))
    assert bus.finish_block(BlockResult("step 40", 0, b"drawn"))
    assert [each.result for each in bus.block_results("step 40")] == [b"drawn", b"won"]
    assert bus.block_results("step 80") == []
    assert bus.lease_block(60) is None


def test_stop_is_seen_by_all(bus: Bus) -> None:
    assert not bus.stopping
    bus.stop()
    assert bus.stopping
