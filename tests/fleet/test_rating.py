"""Ratings in training: stored with the rated weights; a wrong opponent is refused early."""

import json
import signal
import subprocess
import time

import pytest
from command_line import ZEROFLEET

import zerofleet as zf
from zerofleet import metrics
from zerofleet.errors import Unsupported

TIMEOUT_S = 300
"""For a process that takes seconds where nothing else runs; a first report also lists all fonts."""

SMALL = [
    "search.num_simulations=8",
    "replay.min_rows=200",
    "train.batch_size=32",
    "train.publish_every_steps=20",
    "train.keep_checkpoints=1",
    "rating.simulations=4",
    "rating.opponents=[random, start]",
]


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))


def ratings(folder):
    return [record for record in metrics.read(folder) if record["kind"] == "rating"]


def test_the_newest_weights_are_rated_in_between_and_at_the_end_and_stay(tmp_path):
    # Due from the first step on, so that the first rating has the whole run to come to its end.
    often = ["rating.interval_minutes=0.002", "rating.games=4", "rating.final_games=10"]
    run = zf.train("tictactoe", run="r", steps=50, settings=[*SMALL, *often])
    found = ratings(tmp_path / "r")
    between, end = found[:-2], found[-2:]
    assert between
    assert {record["games"] for record in between} == {4}
    assert [(each["step"], each["opponent"], each["games"]) for each in end] == [
        (50, "random", 10),
        (50, "start", 10),
    ]
    for record in found:
        assert 0 <= record["low"] <= record["score"] <= record["high"] <= 1
        assert sum(record["pairs"]) == record["games"] / 2
        kept = json.loads((run.weights / f"{record['step']:09d}.rating").read_text())
        assert record["opponent"] in [each["opponent"] for each in kept]
        zf.arena.player(run.game(), f"run:r@{record['step']},sims=0")


def test_an_unknown_opponent_is_refused_before_anything_is_played(tmp_path):
    with pytest.raises(Unsupported, match="unknown player 'nobody'"):
        zf.train("tictactoe", run="r", steps=5, settings=[*SMALL, "rating.opponents=[nobody]"])
    assert not (tmp_path / "r").exists()


def test_a_run_set_to_the_cpu_uses_no_gpu_for_ratings_either(tmp_path, monkeypatch):
    """Using the fake GPU would fail."""
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 1)
    settings = [*SMALL, "run.device=cpu", "rating.interval_minutes=0", "rating.final_games=2"]
    zf.train("tictactoe", run="r", steps=20, settings=settings)
    assert [record["opponent"] for record in ratings(tmp_path / "r")] == ["random", "start"]


def test_ctrl_c_in_the_last_rating_ends_it_and_keeps_the_run(tmp_path):
    settings = [*SMALL, "rating.interval_minutes=0", "rating.final_games=100000"]
    process = subprocess.Popen(
        [
            ZEROFLEET,
            "train", "tictactoe", "--run", "r", "--steps", "20",
            *(word for each in settings for word in ("--set", each)),
        ],
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    weights = tmp_path / "r" / "weights" / "000000020.rating"
    deadline_s = time.monotonic() + TIMEOUT_S
    while not weights.exists() and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert weights.exists()
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 0, output
    assert "r: 20 steps" in output
    assert ratings(tmp_path / "r") == []
