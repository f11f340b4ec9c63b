"""In every verb that writes, a path that cannot be written is one line that names it."""

import subprocess

import pytest
from command_line import Ran

from zerofleet import config
from zerofleet.runs.folder import create_or_open, find


@pytest.fixture
def read_only_runs(disk_of, monkeypatch):
    """A folder of runs, with a run that has trained nothing, on a disk that cannot be written."""
    disk = disk_of(1024)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(disk))
    with create_or_open("c4", config.load("connect4")):
        pass
    subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
    return disk


@pytest.mark.parametrize(
    "arguments",
    [
        "train connect4 --run c4 --steps 1",
        "train connect4 --run new --preset fast --steps 1",
        "runs rm c4 --yes",
    ],
)
def test_a_read_only_folder_of_runs_is_one_line_with_its_path(capsys, read_only_runs, arguments):
    ran = Ran(capsys, *arguments.split())
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {read_only_runs}/")
    assert "Read-only file system" in ran.errors
    assert ran.errors.count("\n") == 1


@pytest.mark.parametrize("has_lock", [True, False])
def test_a_run_on_a_read_only_medium_is_packed_elsewhere(
    capsys, disk_of, tmp_path, monkeypatch, has_lock
):
    medium = disk_of(1024)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(medium))
    with create_or_open("c4", config.load("connect4")) as run:
        pass
    if not has_lock:
        (run.folder / "run.lock").unlink()
    subprocess.run(["mount", "-o", "remount,ro", medium], check=True)

    ran = Ran(capsys, "runs", "pack", "c4", str(tmp_path / "packs"))
    assert (ran.status, ran.errors) == (0, "")
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    assert Ran(capsys, "runs", "unpack", str(tmp_path / "packs" / "c4.pack.json")).status == 0
    assert find("c4").facts == run.facts


COMPILER = """#!/bin/sh
while [ $# -gt 1 ]; do if [ "$1" = -o ]; then echo made > "$2"; fi; shift; done
"""
"""Makes what it is asked for, at once."""


def test_a_read_only_cache_of_compiled_games_is_named(
    capsys, read_only_runs, monkeypatch, tmp_path
):
    monkeypatch.setenv("ZEROFLEET_CACHE", str(read_only_runs / "cache"))
    compiler, header = tmp_path / "c++", tmp_path / "sticks.h"
    compiler.write_text(COMPILER)
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    header.write_text("class MyGame;")
    ran = Ran(capsys, "check", str(header))
    assert ran.errors == (
        f"zerofleet: {read_only_runs}/cache cannot cache the compiled game: Read-only file system; "
        "set ZEROFLEET_CACHE to another folder\n"
    )
