"""Weights go to the bus from a background thread, and a failure there is not silent."""

import time

import numpy as np
import torch

from zerofleet.bus import MemoryBus
from zerofleet.training import WeightsPublisher
from zerofleet.weights import checked_tensors


class BrokenBus(MemoryBus):
    """Takes no weights."""

    def publish_weights(self, step, sha256, data, at_least):
        raise ConnectionError(f"weights {step} are lost")


def wait_for(condition, within_s=20):
    end_s = time.monotonic() + within_s
    while not condition() and time.monotonic() < end_s:
        time.sleep(0.01)
    assert condition()


def test_the_newest_weights_arrive_with_their_hash():
    bus, faults = MemoryBus(), []
    publisher = WeightsPublisher(bus, faults.append)
    for step in (1, 2, 3):
        publisher.publish(step, {"w": torch.full((2, 3), float(step))}, at_least=step)
    wait_for(lambda: (newest := bus.other_weights(0)) is not None and newest.version == 3)
    published = bus.other_weights(0)
    tensors = checked_tensors(published.data, published.sha256, "weights 3")
    assert np.array_equal(tensors["w"], np.full((2, 3), 3.0))
    assert faults == []


def test_weights_that_cannot_be_published_are_a_fault():
    faults = []
    WeightsPublisher(BrokenBus(), faults.append).publish(7, {"w": torch.zeros(1)}, at_least=7)
    wait_for(lambda: faults)
    assert [str(fault) for fault in faults] == ["weights 7 are lost"]
