"""bench/gpu/published_run.py: wall time, price and ratings of a run that took two legs."""

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from command_line import ran_script

from zerofleet import config
from zerofleet.runs.folder import create_or_open

SCRIPT = Path(__file__).parents[2] / "bench" / "gpu" / "published_run.py"


def status(step: int, elapsed_s: float) -> dict[str, Any]:
    """One second of each kind of work for every ten of the leg."""
    seconds = ("device_busy_s", "training_s", "waiting_to_play_s", "waiting_to_train_s")
    counts = {"games": 10 * step, "rows": 460 * step, "samples": 16384 * step}
    played = {"simulations": 0, "inferences": 0} | dict.fromkeys(seconds, elapsed_s / 10)
    return {"kind": "status", "step": step, "elapsed_s": elapsed_s} | counts | played


def rating(step: int, elapsed_s: float, score: float) -> dict[str, Any]:
    interval = {"low": score - 0.1, "high": score + 0.1}
    found = {"opponent": "random", "games": 200, "score": score, "simulations": 64} | interval
    return {"kind": "rating", "step": step, "elapsed_s": elapsed_s} | found


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of a leg of 600 s to step 1,000, and one of 300 s to step 2,000."""
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with create_or_open("pr", config.load("beastybar", "published_run")) as run:
        records = [
            *(status(500, 240), rating(500, 300, 0.5), status(1000, 590)),
            *(status(1200, 60), status(2000, 280), rating(2000, 295, 0.8)),
        ]
        for name, lines in (
            ("metrics.jsonl", records),
            ("legs.jsonl", [{"wall_s": 600.0}, {"wall_s": 300.0}]),
        ):
            (run.folder / name).write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path


def test_the_legs_of_a_run_add_up(runs: Path, tmp_path: Path) -> None:
    plot = tmp_path / "plot.svg"
    options = ("--run", "pr", "--usd-per-hour", "4", "--plot", plot, "--no-record")
    collected = ran_script(SCRIPT, "collect", *options, ZEROFLEET_RUNS=str(runs))
    assert collected.returncode == 0, collected.stderr
    assert "2,000 of 2,000 steps of 16,384: 15.0 minutes on one GPU" in collected.stdout
    assert "$1.00 at $4.00 an hour" in collected.stdout
    assert "20,000 games, 920,000 rows, 22 games/s" in collected.stdout
    assert "random       80.0% (70.0% to 90.0%) of 200 games" in collected.stdout
    assert "50.0%" not in collected.stdout  # an earlier step's
    assert ElementTree.parse(plot).getroot().tag.endswith("svg")
