"""A worker on a machine that the provider takes back loses no finished game."""

import subprocess
import sys
from pathlib import Path

import pytest
from fleet_processes import Fleet
from metadata_server import metadata_server
from redis_server import RedisServer, needs_redis

from zerofleet.cloud import interruption

PATIENCE_S = 120


@pytest.mark.long
@needs_redis
def test_a_notice_drains_a_worker_and_no_game_is_lost(tmp_path: Path) -> None:
    with (
        metadata_server() as metadata,
        RedisServer(tmp_path) as redis,
        Fleet(tmp_path, redis) as fleet,
    ):
        fleet.trainer()
        worker = fleet.worker("a", options=["--finish-games"])
        fleet.wait_for(lambda: len(fleet.logged()) > 50, "games")
        watcher = subprocess.Popen(
            [sys.executable, "-I", interruption.__file__, "kill", "-TERM", str(worker.pid)],
            env={"ZEROFLEET_METADATA_URL": metadata.url, "ZEROFLEET_METADATA_POLL_S": "0.05"},
        )
        metadata.interrupt()
        assert watcher.wait(PATIENCE_S) == 0
        assert worker.ended() == 0
        assert "wait in the spool" not in worker.output
        fleet.finish()
