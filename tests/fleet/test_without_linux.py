"""A fleet needs no calls that only Linux has: its roles run where they are missing."""

import os
import subprocess
import sys
from pathlib import Path

from redis_server import needs_redis
from tiny_runs import TINY_RUN
from without_linux import WITHOUT_LINUX

pytestmark = needs_redis

AT_START = f"""{WITHOUT_LINUX}
with open(os.environ["ROLES_WITHOUT_LINUX"], "a") as file:
    file.write(str(os.getpid()) + "\\n")
"""
"""Python runs it at the start of every process that finds it on its path."""


def test_a_local_fleet_trains_where_calls_of_linux_are_missing(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(AT_START)
    without = {"REDIS_URL", "REDIS_URL_FILE"}
    sets = [word for each in (*TINY_RUN, "stop.steps=20") for word in ("--set", each)]
    command = ["fleet", "local", "tictactoe", "--preset", "fast", "--run", "r", "--workers", "1"]
    started = tmp_path / "started"
    ran = subprocess.run(
        [sys.executable, "-m", "zerofleet", *command, *sets],
        env={
            **{name: value for name, value in os.environ.items() if name not in without},
            "PYTHONPATH": str(tmp_path),
            "ROLES_WITHOUT_LINUX": str(started),
            "ZEROFLEET_RUNS": str(tmp_path / "runs"),
            "ZEROFLEET_SPOOL": str(tmp_path / "spool"),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "20 steps" in ran.stdout
    assert len(started.read_text().splitlines()) >= 4  # the fleet, trainer, worker and rater
