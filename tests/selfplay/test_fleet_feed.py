"""The weights of a fleet's worker: bad ones are refused, and no worker plays with outdated ones."""

import threading
import time

import numpy as np
import pytest

from zerofleet.bus import MemoryBus
from zerofleet.config import FleetConfig
from zerofleet.errors import Inconsistent
from zerofleet.selfplay import fleet_feed
from zerofleet.selfplay.fleet_feed import FleetWeightsFeed
from zerofleet.weights import encoded_tensors

TIMEOUT_S = 20


class Pipeline:
    """Takes one tensor `bias` of three numbers, as a real one would."""

    def __init__(self, version):
        self.version, self.loaded = version, []

    def load(self, tensors, version):
        if tensors["bias"].shape != (3,):
            raise Inconsistent(f"weights {version} refused: bias must be [3]")
        self.version = version
        self.loaded.append(version)


class Feeding:
    """A feed that begins with version 1, and two workers' pipelines."""

    def __init__(self, bus, **settings):
        self.bus, self.said, self.faults, self.ended = bus, [], [], threading.Event()
        self.feed = FleetWeightsFeed(
            bus, 1, self.ended.is_set, self.faults.append, FleetConfig(**settings), self.said.append
        )
        self.pipelines = [Pipeline(1), Pipeline(1)]
        self.feed.start()

    def publish(self, version, bias=(1, 2, 3), sha256=None):
        data, right = encoded_tensors({"bias": np.array(bias, np.float32)})
        self.bus.publish_weights(version, sha256 or right, data, at_least=version)

    def publish_all(self, versions):
        """One after another, each of which is noticed."""
        for num_behind, version in enumerate(versions, start=1):
            self.publish(version)
            self.until(lambda num=num_behind: self.feed.values()["versions_behind"] == num)

    def until(self, condition):
        end_s = time.monotonic() + TIMEOUT_S
        while not condition():
            assert time.monotonic() < end_s
            for pipeline in self.pipelines:
                self.feed.load_newest(pipeline)
            time.sleep(0.005)

    def versions(self):
        return [pipeline.version for pipeline in self.pipelines]

    def close(self):
        self.ended.set()
        self.bus.stop()  # ends its wait
        self.feed.join()
        assert self.faults == []


@pytest.fixture
def start(bus, monkeypatch):
    monkeypatch.setattr(fleet_feed, "POLL_WEIGHTS_S", 0.02)
    monkeypatch.setattr(fleet_feed, "RETRY_S", 0.02)
    started = []

    def begin(**settings):
        started.append(Feeding(bus, **settings))
        return started[-1]

    yield begin
    for feeding in started:
        bus.is_down = False
        feeding.close()


def test_published_weights_are_loaded_by_all_workers_and_their_latency_is_known(start):
    feeding = start()
    assert feeding.feed.values()["weights_latency_s"] is None
    feeding.publish(2)
    feeding.until(lambda: feeding.versions() == [2, 2])
    values = feeding.feed.values()
    assert (values["weights_loaded"], values["weights_refused"]) == (1, 0)
    assert 0 < values["weights_latency_s"] < TIMEOUT_S
    assert (values["versions_behind"], values["weights_behind_s"]) == (0, 0)


def test_the_hash_that_is_reported_is_that_of_the_weights_in_play(start):
    feeding = start()
    assert feeding.feed.sha256 == ""  # not told what it begins with
    feeding.publish(2)
    feeding.until(lambda: feeding.versions() == [2, 2])
    _, sha256 = encoded_tensors({"bias": np.array((1, 2, 3), np.float32)})
    assert feeding.feed.sha256 == sha256
    feeding.publish(3, bias=(1, 2))
    feeding.until(lambda: feeding.said)  # refused
    assert feeding.feed.sha256 == sha256


def test_an_announcement_is_not_waited_for_until_the_next_poll(start, monkeypatch):
    monkeypatch.setattr(fleet_feed, "POLL_WEIGHTS_S", 10 * TIMEOUT_S)
    feeding = start()
    time.sleep(0.1)  # now it waits
    feeding.publish(2)
    feeding.until(lambda: feeding.versions() == [2, 2])


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"sha256": "77ab"}, "weights 2 refused: sha256 differs from its manifest (got "),
        ({"bias": (1, float("nan"), 3)}, "weights 2 refused: bias has a number that is not finite"),
        ({"bias": (1, 2)}, "weights 2 refused: bias must be [3]"),
    ],
)
def test_bad_weights_are_refused_once_by_name_and_the_old_ones_stay_in_use(start, bad, said):
    feeding = start(max_versions_behind=1, max_seconds_behind=0.01)
    feeding.publish(2, **bad)
    feeding.until(lambda: feeding.said)
    calls = feeding.bus.num_calls + 5
    feeding.until(lambda: feeding.bus.num_calls > calls)  # it polls them repeatedly
    assert feeding.versions() == [1, 1]
    assert [text[: len(said)] for text in feeding.said] == [said]
    assert feeding.feed.values()["weights_refused"] == 1
    assert feeding.feed.wait_until_fresh(0)  # it is not behind what it refused
    feeding.publish(3)
    feeding.until(lambda: feeding.versions() == [3, 3])


def test_a_worker_that_has_not_loaded_the_last_good_ones_still_gets_them(start):
    feeding = start()
    feeding.publish(2)
    feeding.until(lambda: feeding.pipelines[0].version == 2)
    feeding.publish(3, bias=(1, 2))
    feeding.until(lambda: feeding.said)
    late = Pipeline(1)
    feeding.feed.load_newest(late)
    assert late.version == 2


def slow_to_fetch(bus, monkeypatch):
    """Holds back each fetch until the event is set."""
    released = threading.Event()
    fetch = type(bus).other_weights

    def other_weights(version, elsewhere=None):
        released.wait(TIMEOUT_S)
        return fetch(bus, version, elsewhere)

    monkeypatch.setattr(bus, "other_weights", other_weights)
    return released


@pytest.mark.parametrize(
    ("settings", "published", "why"),
    [
        ({"max_versions_behind": 3}, [200, 300, 400, 500], "4 versions behind (fleet.max_versions"),
        ({"max_seconds_behind": 0.05}, [200], "0 s behind (fleet.max_seconds"),
    ],
)
def test_a_worker_too_far_behind_waits_until_it_has_refreshed(
    bus, start, monkeypatch, settings, published, why
):
    released = slow_to_fetch(bus, monkeypatch)
    feeding = start(**settings)
    assert feeding.feed.wait_until_fresh(0)
    feeding.publish_all(published)
    feeding.until(lambda: not feeding.feed.wait_until_fresh(0))
    assert feeding.feed.why_paused.startswith("fetches weights 200: ")
    assert why in feeding.feed.why_paused
    released.set()
    assert feeding.feed.wait_until_fresh(TIMEOUT_S)
    feeding.until(lambda: feeding.versions() == [published[-1], published[-1]])


def test_within_its_bounds_a_worker_keeps_playing_while_it_fetches(bus, start, monkeypatch):
    released = slow_to_fetch(bus, monkeypatch)
    feeding = start(max_versions_behind=3)
    feeding.publish_all([200, 300, 400])
    assert feeding.feed.wait_until_fresh(0)
    released.set()


def test_without_redis_a_worker_keeps_playing_with_its_weights(bus, start, monkeypatch):
    released = slow_to_fetch(bus, monkeypatch)
    feeding = start(max_versions_behind=1)
    feeding.publish_all([8, 9])
    assert feeding.feed.why_paused
    bus.is_down = True
    released.set()
    assert feeding.feed.wait_until_fresh(0)
    time.sleep(0.1)
    assert feeding.versions() == [1, 1]
    bus.is_down = False
    feeding.until(lambda: feeding.versions() == [9, 9])


class LargeFleetBus(MemoryBus):
    """One of so many listeners; notes when it fetches."""

    num_listeners = 0

    def __init__(self):
        super().__init__()
        self.fetched_at_s = []

    def other_weights(self, version, fetch=None):
        self.fetched_at_s.append(time.monotonic())
        return super().other_weights(version, fetch)


def test_many_workers_do_not_fetch_new_weights_in_the_same_moment(monkeypatch):
    monkeypatch.setattr(fleet_feed, "FETCHES_PER_S", 50)
    buses = [LargeFleetBus() for _ in range(30)]
    feedings = [Feeding(bus) for bus in buses]
    for bus, feeding in zip(buses, feedings, strict=True):
        bus.num_listeners = len(buses)
        feeding.publish(2)
    for bus, feeding in zip(buses, feedings, strict=True):
        feeding.until(lambda bus=bus: bus.fetched_at_s)
        feeding.close()
    first_s = sorted(bus.fetched_at_s[0] for bus in buses)
    assert first_s[-1] - first_s[0] > 0.3  # of 30 / 50 s
