"""Ratings whose raters or Redis are killed: the games are still those of one machine."""

import re
import signal
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest
from rated_run import (
    NUM_GAMES,
    OPPONENTS,
    STEP,
    fleet_matches,
    on_one_machine,
    rated_run,
)
from redis_server import RedisServer, needs_redis

from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.rater import Rating
from zerofleet.fleet.screen import PlainScreen

SCRIPT = Path(__file__).parents[2] / "support" / "rater_process.py"
LEASE_S = 4.0
NUM_BLOCKS = 3 * len(OPPONENTS)
TIMEOUT_S = 120

pytestmark = needs_redis


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))


@pytest.fixture
def server(tmp_path):
    server = RedisServer(tmp_path)
    yield server
    server.close()


@pytest.fixture
def trainer(server):
    bus = RedisBus(server.address(), "r")
    bus.lead("here", timeout_s=15)
    yield bus
    bus.close()


@contextmanager
def rater_process(server: RedisServer, rater_id: str, *how: str):
    process = subprocess.Popen(
        [sys.executable, SCRIPT, str(server.port), "r", rater_id, str(LEASE_S), *how],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


class RatingThread(threading.Thread):
    """The trainer's rating, in a thread."""

    def __init__(self, bus, run, config):
        super().__init__()
        self.found = {}
        self._matches = fleet_matches(run, config, bus, PlainScreen())

    def run(self):
        rating = Rating(STEP, {}, NUM_GAMES, in_background=True)
        for _, opponent, match in self._matches.play(rating, lambda *progress: None):
            self.found[opponent] = match.played


def wait_for_line(process, pattern):
    """Waits until a rater prints such a line."""
    for line in process.stdout:
        if found := re.fullmatch(pattern, line.rstrip()):
            return found
    raise AssertionError(f"it ended without a line {pattern}")


def first_block(process):
    """Waits until a rater plays a block; returns its match and number."""
    found = wait_for_line(process, r"(\S+), block (\d+): (\d+) of (\d+) games")
    assert int(found[3]) < int(found[4])
    return found[1], int(found[2])


def test_a_rater_killed_during_a_block_changes_no_game(server, trainer):
    run, config = rated_run("r")
    rating = RatingThread(trainer, run, config)
    with rater_process(server, "box-1", "halts") as dies, rater_process(server, "box-2") as lives:
        wait_for_line(lives, "waits for a rating")
        lives.send_signal(signal.SIGSTOP)  # the other one leases first
        rating.start()
        name, number = first_block(dies)
        lives.send_signal(signal.SIGCONT)
        first_block(lives)
        dies.send_signal(signal.SIGKILL)
        assert dies.wait() == -signal.SIGKILL
        assert number not in [each.number for each in trainer.block_results(name)]
        rating.join(TIMEOUT_S)
    assert rating.found == on_one_machine(run, config)


@pytest.mark.long
def test_a_redis_that_loses_everything_during_a_rating_changes_no_game(server, trainer):
    run, config = rated_run("r")
    rating = RatingThread(trainer, run, config)
    rating.start()
    with rater_process(server, "box-1") as rater:
        name, _ = first_block(rater)
        assert len(trainer.block_results(name)) < NUM_BLOCKS / 2
        server.kill()
        server.start()
        rating.join(TIMEOUT_S)
    assert rating.found == on_one_machine(run, config)
