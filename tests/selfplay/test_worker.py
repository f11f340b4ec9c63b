"""The worker: batches between search and evaluator, games out, with real networks and threads."""

import time

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import _core, infer, nets
from zerofleet.bus import MemoryBus
from zerofleet.errors import Inconsistent
from zerofleet.infer.evaluator import CallingStream, Pipeline, lockstep
from zerofleet.selfplay.worker import Worker

GAME = zf.games.get("connect4")


@pytest.fixture
def network():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    return nets.build(GAME, "tiny", channels=8, num_blocks=2).eval()


class WatchedStream(CallingStream):
    """Knows how many of its kind are in flight, and how many there were at most."""

    num_in_flight = most_in_flight = 0

    def start(self, slot, observations_BN):
        super().start(slot, observations_BN)
        WatchedStream.num_in_flight += 1
        WatchedStream.most_in_flight = max(
            WatchedStream.most_in_flight, WatchedStream.num_in_flight
        )

    def finish(self):
        WatchedStream.num_in_flight -= 1
        return super().finish()


def make_worker(pipeline, bus, may_play=lambda timeout_s: True, num_threads=1):
    driver = _core.SelfPlay(GAME, {"num_simulations": 8}, 3, 4, num_threads, None, 1, 0)
    return Worker(driver, pipeline, bus, may_play)


def take_episodes(bus, count, within_s=30):
    episodes, end_s = [], time.monotonic() + within_s
    while len(episodes) < count and time.monotonic() < end_s:
        time.sleep(0.02)
        episodes += bus.take_episodes()
        bus.raise_fault()
    return [zf.games.Episode.decode(data) for data in episodes]


def versions_in(episodes):
    return {event.version for episode in episodes for event in episode.events}


def observers_in(observations_BN):
    """Whose views these are. With an even number of stones the first player is to move, and a
    view's last byte is whether its owner is."""
    to_move_B = np.count_nonzero(observations_BN[:, :-1], axis=1) % 2
    return set(np.where(observations_BN[:, -1] == 1, to_move_B, 1 - to_move_B).tolist())


def test_a_batch_has_views_of_both_players(network):
    evaluator = infer.TorchEvaluator(network)
    driver = _core.SelfPlay(GAME, {"num_simulations": 8}, 1, 32, 0, None, 1, 0)
    observers = []
    for _ in range(200):
        group, observations_BN = driver.next_batch(0.0)
        observers.append(observers_in(observations_BN))
        driver.submit(group, *evaluator(observations_BN), 0)
    driver.stop()
    assert observers[0] == {0}  # all games begin alike, and drift apart
    assert observers[150:] == [{0, 1}] * 50


@pytest.mark.parametrize("num_streams", [1, 2])
@pytest.mark.parametrize("num_threads", [0, 1])
def test_every_lane_is_used_whole_games_come_out_and_new_weights_are_taken_up(
    network, num_streams, num_threads
):
    evaluator, bus = infer.TorchEvaluator(network, version=1), MemoryBus()
    WatchedStream.num_in_flight = WatchedStream.most_in_flight = 0
    pipeline = Pipeline(evaluator, [WatchedStream(evaluator) for _ in range(num_streams)])
    worker = make_worker(pipeline, bus, num_threads=num_threads)
    worker.start()
    early = take_episodes(bus, 8)
    bus.publish_weights(2, network.state_dict())
    late = take_episodes(bus, 40)
    bus.stop()
    worker.join()
    for episode in early + late:
        episode.verify(GAME)
    assert max(versions_in(early)) == 1
    assert 2 in versions_in(late[-12:])
    assert WatchedStream.most_in_flight == num_streams
    assert worker.times.num_inferences == worker.pipeline.counts.num_rows > 0


def test_while_it_may_not_play_nothing_moves_and_what_is_finished_is_sent(network):
    bus, allowed = MemoryBus(), [True]

    def may_play(timeout_s):
        if not allowed[0]:
            time.sleep(timeout_s)
        return allowed[0]

    worker = make_worker(lockstep(infer.TorchEvaluator(network)), bus, may_play)
    worker.start()
    take_episodes(bus, 4)
    allowed[0] = False
    time.sleep(0.3)
    bus.take_episodes()
    before = worker.counts().num_simulations
    time.sleep(0.5)
    assert worker.counts().num_simulations == before
    allowed[0] = True
    assert len(take_episodes(bus, 4)) >= 4
    bus.stop()
    worker.join()


def test_a_fault_of_the_evaluator_ends_every_role(network):
    bus = MemoryBus()
    worker = make_worker(lockstep(infer.TorchEvaluator(network)), bus)
    bus.publish_weights(2, {"wrong": torch.zeros(1)})
    worker.start()
    worker.join()
    assert bus.stopping
    with pytest.raises(Inconsistent, match="weights 2 refused"):
        bus.raise_fault()
