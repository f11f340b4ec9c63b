"""The GPU values of a status, positions, and the weights that roles refused."""

import pytest

import zerofleet as zf
from zerofleet.bus import RoleEntry
from zerofleet.fleet.status import RefusedWeights, gpu_values, num_positions
from zerofleet.infer.devices import GpuFigures


class Gauge:
    def __init__(self, figures):
        self.figures = figures

    def read(self):
        return self.figures


def test_gpus_are_added_up_and_how_busy_they_are_is_their_mean():
    gauges = [Gauge(GpuFigures(1.0, 600.0, 20, 140)), Gauge(GpuFigures(0.5, 300.0, 5, 80))]
    assert gpu_values([*gauges, Gauge(None)]) == {
        "gpu_busy": 0.75,
        "gpu_watts": 900.0,
        "gpu_memory_bytes": 25,
        "gpu_memory_total_bytes": 220,
    }


def test_without_a_driver_nothing_is_reported():
    assert gpu_values([Gauge(None)]) == gpu_values([]) == {}


@pytest.mark.parametrize("name", ["connect4", "beastybar", "backgammon"])
def test_a_game_has_a_position_for_each_of_its_events(name):
    game = zf.games.get(name)
    played = zf.selfplay.play(game, "hash", num_episodes=3, num_simulations=4)
    for episode in map(zf.games.Episode.decode, played):
        rows_RN, _, _ = episode.observations(game)
        assert num_positions(len(rows_RN), game) == len(episode.events)


def test_each_refusal_of_weights_is_reported_once_with_what_still_serves():
    def worker(**counters):
        return RoleEntry("w1", "worker", "box", "cpu", started=1.0, counters=counters)

    refusals = RefusedWeights()
    assert refusals.new_in([worker(version=4)]) == []
    said = "worker w1 on box refused weights 7; still serving 4; its output says why"
    assert refusals.new_in([worker(version=4, refused_version=7)]) == [said]
    assert refusals.new_in([worker(version=4, refused_version=7)]) == []
    assert len(refusals.new_in([worker(version=4, refused_version=9)])) == 1
