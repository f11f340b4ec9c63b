"""The trainer takes games in: a kill between any two calls loses none and counts none twice."""

import shutil
import time
from contextlib import closing, contextmanager

import pytest
import torch
from played_games import played

from zerofleet import nets
from zerofleet.bus import BusFull, BusUnreachable, Delivery, MemoryBus, NotTheTrainer, Sender
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.metrics import MetricsLog
from zerofleet.replay import EpisodeLog, Intake, Replay
from zerofleet.replay.segment import Entry
from zerofleet.storage import Disk
from zerofleet.training import (
    CheckpointStore,
    IntakeThread,
    RunCounters,
    Trainer,
    TrainingLoop,
    WeightsPublisher,
)
from zerofleet.training import loop as training_loop
from zerofleet.training.loop import RowThroughput
from zerofleet.weights import WeightsStore

CONFIG = ReplayConfig(min_rows=1, segment_bytes=4096)
ANNA, BOB = Sender("anna", 7), Sender("bob", 8)


def games_of(sender):
    game, episodes = played("connect4", 20, worker=sender.incarnation)
    return game, [Delivery(sender, number, each.encode()) for number, each in enumerate(episodes)]


def wait_for(condition, within_s=20):
    end_s = time.monotonic() + within_s
    while not condition() and time.monotonic() < end_s:
        time.sleep(0.01)
    assert condition()


@contextmanager
def trainer_of(folder, bus):
    """A trainer role without its steps, and what it says."""
    game, _ = games_of(ANNA)
    disk, said = Disk(), []
    network = nets.build(game, "tiny")
    with (
        closing(Replay(folder / "episodes", game, CONFIG, seed=1)) as replay,
        closing(Intake(replay, folder / "refused", disk, said.append, syncs=True)) as intake,
        MetricsLog(folder, [], disk) as metrics,
    ):
        loop = TrainingLoop(
            trainer=Trainer(network, TrainConfig(), torch.device("cpu")),
            replay=replay,
            intake=intake,
            checkpoints=CheckpointStore(folder / "checkpoints", 1),
            weights=WeightsStore(folder / "weights"),
            bus=bus,
            metrics=metrics,
            disk=disk,
            settings=TrainConfig(),
            counters=RunCounters(),
        )
        yield loop, said


def ids_in(folder, game):
    with closing(Replay(folder / "episodes", game, CONFIG, seed=1)) as replay:
        ids = [(each.worker, each.sequence) for each in replay.log.newest(10**9)[1]]
        assert replay.buffer.num_added == replay.log.position.num_rows
        return ids, replay.log.marks()


class WatchedBus(MemoryBus):
    """Copies the run folder at each call of the trainer: what a kill there would leave."""

    def __init__(self, folder, copies):
        super().__init__()
        self.folder, self.copies = folder, copies
        self.names = []

    def copy(self, name):
        self.names.append(name)
        shutil.copytree(self.folder, self.copies / str(len(self.names)))

    def receive_episodes(self):
        self.copy("receive")
        return super().receive_episodes()

    def set_marks(self, marks):
        self.copy("mark")
        _, in_log = ids_in(self.copies / str(len(self.names)), games_of(ANNA)[0])
        assert all(in_log[sender] >= mark for sender, mark in marks.items())
        super().set_marks(marks)
        self.copy("marked")

    def acknowledge(self, deliveries):
        self.copy("acknowledge")
        super().acknowledge(deliveries)
        self.copy("acknowledged")


def test_killed_between_any_two_calls_each_game_counts_once(tmp_path):
    game, of_anna = games_of(ANNA)
    _, of_bob = games_of(BOB)
    bus = WatchedBus(tmp_path / "run", tmp_path / "copies")
    (tmp_path / "run").mkdir()
    with trainer_of(tmp_path / "run", bus) as (loop, _):
        for first in range(0, 20, 10):
            bus.send_episodes(of_anna[first : first + 10])
            bus.send_episodes([Delivery(BOB, first, b"rubbish"), *of_bob[first + 1 : first + 10]])
            loop.take_in(bus.receive_episodes())
    ids, marks = ids_in(tmp_path / "run", game)
    assert len(ids) == 38
    assert marks == {ANNA: 20, BOB: 20}
    assert bus.names == 2 * ["receive", "mark", "marked", "acknowledge", "acknowledged"]
    for number in range(1, len(bus.names) + 1):
        killed = tmp_path / "copies" / str(number)
        with trainer_of(killed, MemoryBus()) as (loop, _):
            loop.publish_marks()
            loop.take_in([*of_anna, *of_bob[1:10], *of_bob[11:]])  # all is sent again
            loop.take_in([Delivery(BOB, first, b"rubbish") for first in (0, 10)])
            assert (loop.bus.mark(ANNA), loop.bus.mark(BOB)) == (20, 20)
        again, marks = ids_in(killed, game)
        assert sorted(again) == sorted(ids)
        assert marks == {ANNA: 20, BOB: 20}


def test_a_trainer_publishes_its_marks_first_and_reports_what_a_restored_log_lacks(tmp_path):
    _, deliveries = games_of(ANNA)
    bus = MemoryBus()
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.take_in(deliveries[:5])
    bus.set_marks({ANNA: 12, BOB: 3})  # what a log that is lost had confirmed
    with trainer_of(tmp_path, bus) as (loop, said):
        loop.publish_marks()
        assert said == [
            "episodes: 7 games of anna are lost: they were logged once, and this log, restored "
            "from an older copy, lacks them"
        ]
        assert bus.mark(ANNA) == 12
        loop.take_in(deliveries[12:])
        assert bus.mark(ANNA) == 20
        _, of_bob = games_of(BOB)
        loop.take_in(of_bob[3:5])
        assert "3 games of bob are lost" in said[1]
        assert bus.mark(BOB) == 5


def test_what_was_cleared_while_no_trainer_ran_is_not_reported_as_lost(tmp_path):
    _, deliveries = games_of(ANNA)
    bus = MemoryBus()
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.take_in(deliveries[:2])
    bus.send_episodes([*deliveries[2:4], *games_of(BOB)[1][:3]])
    bus.clear_backlog()
    with trainer_of(tmp_path, bus) as (loop, said):
        loop.publish_marks()
        loop.take_in(games_of(BOB)[1][3:4])
        assert said == []
        assert loop.replay.log.marks() == {ANNA: 4, BOB: 4}


def test_what_was_cleared_is_done_and_what_was_withdrawn_is_not_trained_on(tmp_path):
    _, deliveries = games_of(ANNA)
    bus = MemoryBus()
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.take_in(deliveries[:2])
        bus.send_episodes(deliveries[2:4])
        assert bus.clear_backlog() == 2
        worker, sequence = next(iter(loop.replay.log.newest(10**9)[1]))[1:3]
        bus.withdraw([(worker, sequence)])
        loop.take_requests()
        assert loop.replay.log.marks() == {ANNA: 4}
        assert loop.replay.buffer.num_excluded > 0


class UnsteadyBus(MemoryBus):
    """Every fourth call of the trainer fails, before or after it took effect."""

    def __init__(self):
        super().__init__()
        self.num_calls = 0

    def fail_sometimes(self):
        self.num_calls += 1
        if self.num_calls % 4 == 0:
            raise BusUnreachable("no route to the server")

    def set_marks(self, marks):
        self.fail_sometimes()
        super().set_marks(marks)
        self.fail_sometimes()

    def acknowledge(self, deliveries):
        super().acknowledge(deliveries)
        self.fail_sometimes()


def test_games_are_taken_in_beside_the_steps_also_when_the_bus_comes_and_goes(
    tmp_path, monkeypatch
):
    monkeypatch.setattr("zerofleet.training.loop.RETRY_BUS_S", 0.01)
    game, deliveries = games_of(ANNA)
    bus, faults = UnsteadyBus(), []
    with trainer_of(tmp_path, bus) as (loop, _):
        thread = IntakeThread(loop, faults.append, lambda: None)
        thread.start()
        for first in range(0, 20, 4):
            bus.send_episodes(deliveries[first : first + 4])
            time.sleep(0.02)  # a step
        wait_for(lambda: not bus.backlog().num_episodes)
        thread.stop()
        assert bus.mark(ANNA) == 20
        assert bus.num_calls > 6
    assert faults == []
    ids, _ = ids_in(tmp_path, game)
    assert len(set(ids)) == len(ids) == 20


def test_workers_may_run_ahead_by_what_they_play_in_the_slack(tmp_path, monkeypatch):
    now_s = iter([0.0, 2.0, 10.0])
    monkeypatch.setattr(training_loop, "RowThroughput", lambda: RowThroughput(lambda: next(now_s)))
    _, deliveries = games_of(ANNA)
    bus = MemoryBus()
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.pace_slack_s = 0.5
        limiter = loop.replay.limiter
        allowances = []
        for some in ([], deliveries, []):  # at 0, 2 and 10 s
            loop.take_in(some)
            allowances.append(bus.pace().rows_allowed - limiter.rows_allowed)
        num_rows = limiter.state.num_rows
    assert num_rows > 0
    assert allowances == [0, round(num_rows / 2 * 0.5), 0]


def test_workers_never_run_ahead_by_more_than_a_quarter_of_the_replay_buffer(tmp_path, monkeypatch):
    now_s = iter([0.0, 2.0])
    monkeypatch.setattr(training_loop, "RowThroughput", lambda: RowThroughput(lambda: next(now_s)))
    _, deliveries = games_of(ANNA)
    bus = MemoryBus()
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.pace_slack_s = 1e6
        for some in ([], deliveries):
            loop.take_in(some)
        ahead = bus.pace().rows_allowed - loop.replay.limiter.rows_allowed
        assert ahead == round(loop.replay.buffer.capacity / 4)


def test_a_full_bus_is_freed_by_taking_games_in_before_the_run_is_introduced(tmp_path, monkeypatch):
    monkeypatch.setattr("zerofleet.training.loop.RETRY_BUS_S", 0.01)
    game, deliveries = games_of(ANNA)
    bus, faults, waiting = MemoryBus(), [], []

    def introduce():
        waiting.append(bus.backlog().num_episodes)
        if len(waiting) < 3:
            raise BusFull("no room")

    bus.send_episodes(deliveries)
    with trainer_of(tmp_path, bus) as (loop, _):
        thread = IntakeThread(loop, faults.append, introduce)
        thread.start()
        wait_for(lambda: len(waiting) >= 3)
        thread.stop()
        assert loop.intake.counts.num_duplicates == 0
    assert faults == []
    assert waiting[0] == 0
    assert len(ids_in(tmp_path, game)[0]) == len(deliveries)


def test_a_trainer_that_was_replaced_stops_taking_in(tmp_path):
    class Replaced(MemoryBus):
        def receive_episodes(self):
            raise NotTheTrainer("elsewhere trains")

    faults = []
    with trainer_of(tmp_path, Replaced()) as (loop, _):
        thread = IntakeThread(loop, faults.append, lambda: None)
        thread.start()
        wait_for(lambda: faults)
        thread.stop()
    assert [str(fault) for fault in faults] == ["elsewhere trains"]


@pytest.mark.parametrize("version", [0, 1200])
def test_a_version_never_plays_twice_although_the_steps_since_a_checkpoint_are_lost(
    tmp_path, version
):
    """The log has games of version 1200; the trainer is back at step 0."""
    bus, faults = MemoryBus(), []
    data = games_of(ANNA)[1][0].episode
    with trainer_of(tmp_path, bus) as (loop, _):
        loop.replay.log.append([Entry(data, 7, 0, num_rows=1, version=version)])
        loop.publisher = WeightsPublisher(bus, faults.append)
        loop.publish()
        wait_for(lambda: bus.weights_version() is not None)
        assert bus.weights_version() == version + 1
    with closing(EpisodeLog(tmp_path / "episodes", games_of(ANNA)[0], CONFIG)) as log:
        assert log.newest_version == version
