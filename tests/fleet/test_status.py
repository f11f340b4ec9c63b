"""The GPU values of a status."""

from zerofleet.fleet.status import gpu_values
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
