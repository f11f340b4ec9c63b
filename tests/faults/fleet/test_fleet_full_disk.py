"""Disks of a worker and of a trainer that are actually full while the fleet runs."""

from full_disk import fill
from redis_server import needs_redis

pytestmark = needs_redis


def test_a_worker_whose_disk_is_full_pauses_and_keeps_what_it_has_finished(fleet_of, disk_of):
    disk = disk_of(4 << 10)
    fleet = fleet_of(spool=disk / "spool")
    fleet.trainer()
    worker = fleet.worker()
    fleet.wait_for_games()
    ballast = fill(disk, left_bytes=0)
    fleet.wait_for(lambda: "No space left" in fleet.roles()["a"].doing, "a paused worker")
    unwritten = fleet.counter("a", "games") - len(fleet.spooled())
    assert unwritten > 0
    assert worker.output.count("paused: ") == 1
    ballast.unlink()
    fleet.wait_for_games()
    print(f"finished and unwritten {unwritten:.0f}, games {fleet.finish()}")


def test_a_trainer_whose_disk_is_full_pauses_its_workers_and_takes_all_in_later(fleet_of, disk_of):
    disk = disk_of(32 << 10)
    fleet = fleet_of(runs=disk / "runs")
    trainer = fleet.trainer()
    fleet.worker()
    fleet.wait_for_games()
    ballast = fill(disk, left_bytes=0)
    fleet.wait_for(lambda: "the disk is full" in fleet.roles()["a"].doing, "a paused worker")
    assert "No space left" in trainer.output
    in_flight = len(fleet.in_flight())
    assert in_flight > 0
    ballast.unlink()
    fleet.wait_for_games(in_flight + 100)
    print(f"in flight {in_flight}, games {fleet.finish()}")
