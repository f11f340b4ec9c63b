"""zerofleet train beside its dashboard, and zerofleet dash, as processes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from command_line import ZEROFLEET, ran_without
from tiny_runs import TINY_RUN

from zerofleet.web.server import listen

SETTINGS = [word for setting in TINY_RUN for word in ("--set", setting)]
COMMAND = [str(ZEROFLEET), "train", "tictactoe", "--run", "ttt"]


def address_in(process: subprocess.Popen[str]) -> str:
    """What a process says of its dashboard."""
    assert process.stdout is not None
    for line in process.stdout:
        if found := re.match(r"dashboard: (\S+)", line):
            return found[1]
    raise AssertionError("no address was printed")


def test_training_serves_its_run_and_says_where(tmp_path: Path) -> None:
    with subprocess.Popen(
        [*COMMAND, *SETTINGS, "--minutes", "5"],
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            address = address_in(process)
            assert address.endswith("/runs/ttt")
            base = address.removesuffix("/runs/ttt")
            end_s = time.monotonic() + 60
            games = 0
            while games == 0:
                assert time.monotonic() < end_s, "no progress was shown"
                time.sleep(0.2)
                answer = httpx.get(f"{base}/api/v1/runs/ttt")
                if answer.status_code == 200:
                    run = answer.json()
                    games = run["totals"]["games"]
            assert run["is_training"]
        finally:
            process.send_signal(signal.SIGINT)
        assert process.wait(60) == 0


def test_training_ends_well_without_a_dashboard(tmp_path: Path) -> None:
    done = ran_without(["fastapi"], tmp_path, *COMMAND[1:], *SETTINGS, "--games", "20")
    assert done.returncode == 0
    assert "no dashboard: fastapi is not installed; pip install 'zerofleet[web]'" in done.stdout
    assert done.stdout.count("dashboard") == 1


def test_no_dash_serves_nothing(tmp_path: Path) -> None:
    done = ran_without([], tmp_path, *COMMAND[1:], *SETTINGS, "--games", "20", "--no-dash")
    assert done.returncode == 0
    assert "dashboard" not in done.stdout


def test_a_dashboard_that_cannot_start_does_not_stop_training(tmp_path: Path) -> None:
    program = "import zerofleet.web.server as s\ns.listen = lambda *_: 1 / 0"
    done = ran_without([], tmp_path, *COMMAND[1:], *SETTINGS, "--games", "20", first=program)
    assert done.returncode == 0
    assert "no dashboard: division by zero" in done.stdout


def test_dash_ends_quietly_at_ctrl_c(tmp_path: Path) -> None:
    with (
        listen("127.0.0.1", 0, 1) as taken,
        subprocess.Popen(
            [str(ZEROFLEET), "dash", "--port", str(taken.getsockname()[1])],
            env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path), "PYTHONUNBUFFERED": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process,
    ):
        address = address_in(process)
        end_s = time.monotonic() + 10
        while time.monotonic() < end_s:
            try:
                assert httpx.get(f"{address}api/v1/runs").json() == []
                break
            except httpx.TransportError:
                time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        rest, _ = process.communicate(timeout=20)
    assert "Traceback" not in rest


def test_dash_without_its_libraries_says_what_to_install(tmp_path: Path) -> None:
    done = ran_without(["fastapi"], tmp_path, "dash")
    assert done.returncode == 2
    assert "pip install 'zerofleet[web]'" in done.stderr


@pytest.mark.parametrize(
    ("source", "reason"),
    [("nowhere.py:Nim", "nowhere.py cannot be read"), ("connect4", "connect4 is no file")],
)
def test_dash_refuses_a_game_that_cannot_be_loaded(
    tmp_path: Path, source: str, reason: str
) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zerofleet", "dash", "--port", "0", "--game", source],
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 2
    assert reason in done.stderr


def test_dash_of_an_unknown_run_names_the_known_ones(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zerofleet", "dash", "--run", "nope"],
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "unknown run nope" in done.stderr


@pytest.mark.parametrize("source", ["nim.py:Nim"])
def test_code_of_a_custom_game_runs_only_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, source: str
) -> None:
    from zerofleet.errors import Inconsistent
    from zerofleet.runs.folder import find
    from zerofleet.web.games import Games

    support = Path(__file__).parents[1] / "support"
    place = f"{support}/{source}"
    settings = [word for each in TINY_RUN if "preset" not in each for word in ("--set", each)]
    done = ran_without(
        [], tmp_path, "train", place, "--run", "nim", "--games", "20", "--no-dash", *settings
    )
    assert done.returncode == 0, done.stderr
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with pytest.raises(Inconsistent, match="whose code runs only if you name it"):
        Games().of_run(find("nim"))
    named = Games([place])
    assert named.of_run(find("nim")).name == "nim"
    assert named.lines()[0].name == "nim"
    assert "run:nim" in [each.text for each in named.players("nim", [])]
