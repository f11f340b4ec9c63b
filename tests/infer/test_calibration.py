"""Batch sizes: which one is picked, which are measured, and that a second start measures none."""

import json

import numpy as np
import pytest

import zerofleet as zf
from zerofleet.infer import calibration
from zerofleet.infer.calibration import CPU_SIZES, Calibration, calibrate
from zerofleet.infer.evaluator import Answered


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    return tmp_path / "batch-sizes"


@pytest.mark.parametrize(
    ("throughputs", "size"),
    [
        ({256: 100.0, 512: 190.0, 1024: 200.0}, 512),
        ({256: 100.0, 512: 180.0, 1024: 200.0}, 1024),  # a ninth more
        ({256: 200.0, 512: 190.0, 1024: 100.0}, 256),
        # Seen on an H200, Beasty Bar's `large`: with the last, games take minutes for 12 % more.
        ({256: 300, 512: 379, 1024: 423, 2048: 458, 4096: 482, 8192: 538}, 1024),
        ({256: 300, 512: 320, 1024: 600}, 1024),  # one of them was disturbed
        ({8192: 1.0}, 8192),
    ],
)
def test_the_size_doubles_as_long_as_throughput_rises_by_10_percent(throughputs, size):
    assert Calibration(throughputs, was_kept=False).size_for() == size


@pytest.mark.parametrize(("wanted_per_s", "size"), [(90, 256), (105, 256), (120, 512), (300, 1024)])
def test_throughput_beyond_what_search_wants_is_no_reason_for_a_larger_size(wanted_per_s, size):
    throughputs = {256: 100.0, 512: 190.0, 1024: 400.0}
    assert Calibration(throughputs, was_kept=False).size_for(wanted_per_s) == size


def test_the_text_has_all_throughputs():
    throughputs = {1024: 510_000.0, 256: 9_450.0, 512: 498_000.0}
    said = "256: 9.4 k/s, 512: 498 k/s, 1,024: 510 k/s"
    assert str(Calibration(throughputs, was_kept=False)) == said
    assert str(Calibration(throughputs, was_kept=True)) == f"measured before; {said}"


class SlowStarter:
    """Two batches in flight; each takes 2 ms by a fake clock, the very first 100 ms."""

    def __init__(self):
        self.slots = []
        self.clock_s = 0.0
        self.patience_s = 0.1

    def perf_counter(self):
        return self.clock_s

    @property
    def has_room(self):
        return len(self.slots) < 2

    @property
    def num_in_flight(self):
        return len(self.slots)

    def submit(self, slot, batch_BN):
        assert self.has_room
        assert slot not in self.slots
        self.slots.append(slot)

    def collect(self):
        self.clock_s += self.patience_s
        self.patience_s = 0.002
        zeros = np.zeros((8, 3), np.float32)
        return Answered(self.slots.pop(0), zeros, zeros, 0)


def test_throughput_omits_the_warm_up_and_leaves_nothing_in_flight(monkeypatch):
    pipeline = SlowStarter()
    monkeypatch.setattr(calibration, "time", pipeline)
    per_s = calibration.throughput_of(pipeline, np.zeros((8, 4), np.uint8), calibration.MEASURED_S)
    assert per_s == pytest.approx(8 / 0.002)
    assert pipeline.num_in_flight == 0


def test_every_size_is_tried_once_and_a_second_start_reads_the_measurements(
    cache, make_network, monkeypatch
):
    monkeypatch.setattr(calibration, "WARM_UP_S", 0.0)
    monkeypatch.setattr(calibration, "MEASURED_S", 0.01)
    game, network = zf.games.get("connect4"), make_network(1)
    first = calibrate(game, network, "torch", "cpu")
    assert sorted(first.throughputs) == list(CPU_SIZES)
    assert all(each > 0 for each in first.throughputs.values())
    assert not first.was_kept
    (path,) = cache.iterdir()
    second = calibrate(game, network, "torch", "cpu")
    assert second.was_kept
    assert second.throughputs == first.throughputs
    for damaged in ("{", "[]", "{}", '{"17": 1.0}', json.dumps({"16": -1.0})):
        path.write_text(damaged)
        assert not calibrate(game, network, "torch", "cpu").was_kept
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("name", ["connect4", "backgammon", "beastybar"])
def test_calibration_uses_many_distinct_observations_of_the_game(name):
    game = zf.games.get(name)
    rows_BN = calibration.some_observations(game)
    assert rows_BN.shape == (calibration.NUM_POSITIONS, game.observation_bytes)
    assert len(np.unique(rows_BN, axis=0)) > calibration.NUM_POSITIONS / 2
