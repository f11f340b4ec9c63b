"""The worker: batches between search and evaluator, games out, with real networks and threads."""

import time

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import _core, infer, nets
from zerofleet.bus import MemoryBus, Pace, Sender
from zerofleet.errors import Inconsistent
from zerofleet.infer.evaluator import CallingStream, Pipeline, lockstep
from zerofleet.selfplay.outbox import DirectOutbox
from zerofleet.selfplay.worker import WeightsFeed, Worker
from zerofleet.weights import BadWeights, encoded_tensors

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


class Playing:
    """A worker with its feed, on its own bus; faults are kept."""

    def __init__(self, pipeline, num_threads=1):
        driver = _core.SelfPlay(
            *(GAME, {"num_simulations": 8}, 3, 4, num_threads, None, 1, 0),
            version=pipeline.version,
        )
        self.bus, self.faults = MemoryBus(), []
        self.feed = WeightsFeed(self.bus, pipeline.version, self.is_stopping, self.fail)
        outbox = DirectOutbox(self.bus, Sender("box", 5))
        self.worker = Worker(driver, pipeline, outbox, self.feed, self.is_stopping, self.fail)

    def is_stopping(self):
        return self.bus.stopping

    def fail(self, fault):
        self.faults.append(fault)
        self.bus.stop()

    def start(self):
        self.feed.start()
        self.worker.start()

    def join(self):
        self.feed.join()
        self.worker.join()

    def publish(self, version, state):
        data, sha256 = encoded_tensors({name: each.numpy() for name, each in state.items()})
        self.bus.publish_weights(version, sha256, data, at_least=version)

    def wait_until_still(self, within_s=30):
        """Until half a second passes without a simulation."""
        end_s, before = time.monotonic() + within_s, -1
        while (now := self.worker.counts().num_simulations) != before:
            assert time.monotonic() < end_s
            before = now
            time.sleep(0.5)

    def take(self, count, within_s=30):
        deliveries, end_s = [], time.monotonic() + within_s
        while len(deliveries) < count and time.monotonic() < end_s and not self.faults:
            time.sleep(0.02)
            deliveries += self.bus.receive_episodes()
        assert self.faults == []
        return deliveries


def episodes_of(deliveries):
    return [zf.games.Episode.decode(each.episode) for each in deliveries]


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
def test_every_stream_is_used_whole_games_come_out_and_new_weights_are_taken_up(
    network, num_streams, num_threads
):
    evaluator = infer.TorchEvaluator(network, version=1)
    WatchedStream.num_in_flight = WatchedStream.most_in_flight = 0
    pipeline = Pipeline(evaluator, [WatchedStream(evaluator) for _ in range(num_streams)])
    playing = Playing(pipeline, num_threads)
    playing.start()
    early = playing.take(8)
    playing.publish(2, network.state_dict())
    late = playing.take(40)
    playing.bus.stop()
    playing.join()
    assert [each.number for each in early + late] == list(range(len(early + late)))
    assert {each.sender for each in early + late} == {Sender("box", 5)}
    for episode in episodes_of(early + late):
        episode.verify(GAME)
    assert versions_in(episodes_of(early)) == {1}
    assert 2 in versions_in(episodes_of(late[-12:]))
    assert WatchedStream.most_in_flight == num_streams
    assert playing.worker.times.num_inferences == pipeline.counts.num_rows > 0


def test_while_it_may_not_play_nothing_moves_and_what_is_finished_is_sent(network):
    playing = Playing(lockstep(infer.TorchEvaluator(network)))
    playing.start()
    playing.take(4)
    playing.bus.set_pace(Pace(rows_inserted=9, rows_allowed=8))
    playing.wait_until_still()
    assert playing.worker.doing == "waits for training"
    playing.bus.set_pace(Pace(rows_inserted=9, rows_allowed=9))
    assert len(playing.take(4)) >= 4
    playing.bus.stop()
    playing.join()


def test_weights_that_do_not_fit_end_every_role(network):
    playing = Playing(lockstep(infer.TorchEvaluator(network)))
    playing.publish(2, {"wrong": torch.zeros(1)})
    playing.start()
    playing.join()
    assert playing.bus.stopping
    (fault,) = playing.faults
    assert isinstance(fault, Inconsistent)
    assert "weights 2 refused" in str(fault)


def test_weights_with_another_hash_are_refused_by_name(network):
    playing = Playing(lockstep(infer.TorchEvaluator(network)))
    playing.bus.publish_weights(2, "77ab", b"torn", at_least=2)
    playing.start()
    playing.join()
    (fault,) = playing.faults
    assert isinstance(fault, BadWeights)
    assert str(fault).startswith("weights 2 refused: sha256 differs from its manifest (got ")
