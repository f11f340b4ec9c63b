"""Nothing needs Linux-only calls: a run trains and a match is played without them."""

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest
from tiny_runs import TINY_RUN
from without_linux import WITHOUT_LINUX

from zerofleet import cores
from zerofleet.cli import doctor_findings

PROGRAM = f"""{WITHOUT_LINUX}
import sys

from zerofleet.cli import main

main(sys.argv[1:])
"""
ALL_CORES = "run.num_threads=0"


@pytest.mark.parametrize(
    ("command", "printed"),
    [
        (
            ["train", "tictactoe", "--run", "r", "--steps", "3"]
            + [word for each in (*TINY_RUN, ALL_CORES) for word in ("--set", each)],
            "r: 3 steps",
        ),
        (["match", "tictactoe", "random", "random", "--games", "2"], "games   2 (1 pairs"),
    ],
)
def test_a_command_works_where_calls_of_linux_are_missing(
    tmp_path: Path, command: list[str], printed: str
) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, *command],
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert printed in ran.stdout


def test_the_doctor_finds_every_core_where_there_is_no_affinity_and_no_proc(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(cores, "CPU_INFO", tmp_path / "cpuinfo")
    monkeypatch.setattr(doctor_findings, "MEMORY_INFO", tmp_path / "meminfo")
    found = {each.what: each.found for each in doctor_findings.hardware()}
    assert found["cores"] == f"{os.cpu_count()} of {os.cpu_count()} may be used"
    assert found["processor"] == platform.machine()
