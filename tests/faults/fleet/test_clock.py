"""Clocks that are an hour off change nothing: leases, heartbeats and ages use Redis' clock."""

import shutil
import subprocess
import time
from pathlib import Path

import pytest
from redis_server import needs_redis

HOUR_S = 3600
SOURCE = Path(__file__).parents[2] / "support" / "shifted_clock.c"

pytestmark = [
    needs_redis,
    pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler to shift a clock with"),
]


@pytest.fixture
def clock_off_by(tmp_path):
    """How a role starts whose wall clock differs by so much."""
    library = tmp_path / "shifted_clock.so"
    compiling = ["g++", "-x", "c", "-shared", "-fPIC", "-O1", SOURCE, "-o", library, "-ldl"]
    subprocess.run(compiling, check=True)

    def environment(offset_s):
        shifted = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_S": str(offset_s)}
        return {"executes": True, "environment": shifted}

    return environment


@pytest.mark.long
@pytest.mark.parametrize(("of_worker", "of_trainer"), [(HOUR_S, -HOUR_S), (-HOUR_S, HOUR_S)])
def test_clocks_an_hour_off_at_worker_and_trainer_change_nothing(
    fleet, clock_off_by, of_worker, of_trainer
):
    trainer = fleet.trainer(**clock_off_by(of_trainer))
    fleet.worker(**clock_off_by(of_worker))
    fleet.wait_for_games()
    roles = fleet.wait_for(
        lambda: len(found := fleet.roles()) == 2 and found, "both in the registry"
    )
    for role_id, offset_s in (("a", of_worker), ("trainer", of_trainer)):
        assert abs(roles[role_id].started - time.time() - offset_s) < HOUR_S / 2
    assert roles["a"].counters["trainer_away"] == 0
    trainer.kill()
    in_flight = fleet.wait_for_flight(20)
    fleet.trainer()
    fleet.wait_for_games(in_flight)
    print(f"in flight {in_flight}, games {fleet.finish()}")
