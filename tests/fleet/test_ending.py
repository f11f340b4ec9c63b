"""However a run ends, its weights and games are on disk, and it resumes from there."""

import json
import re

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import metrics
from zerofleet.config import ReplayConfig
from zerofleet.errors import BadBytes, EngineFailed
from zerofleet.replay import EpisodeLog
from zerofleet.runs.folder import find
from zerofleet.training import NotFinite

OVERFLOWING = ["train.precision=fp16", "train.learning_rate=10", "train.warmup_steps=0"]
"""Weights that grow by 10 a step soon give activations that 16 bits cannot hold."""


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    return tmp_path


def checkpoint_steps(run_folder):
    return sorted(int(path.stem) for path in (run_folder / "checkpoints").glob("*.json"))


def newest_checkpoint(run_folder):
    return json.loads(max((run_folder / "checkpoints").glob("*.json")).read_text())


@pytest.mark.parametrize("deterministic", ["false", "true"])
def test_after_a_number_that_is_not_finite_the_weights_of_the_step_before_are_on_disk(
    runs_folder, capfd, deterministic
):
    settings = [*TINY_RUN, f"run.deterministic={deterministic}"]
    with pytest.raises(NotFinite) as stopped:
        zf.train("tictactoe", run="r", steps=50, settings=[*settings, *OVERFLOWING])
    found = re.search(r"the weights of step (\d+) are kept", str(stopped.value))
    assert found is not None
    step = int(found[1])
    assert step > 0
    assert checkpoint_steps(runs_folder / "r")[-1] == step
    zf.train("tictactoe", run="r", steps=step, settings=settings)
    assert f"resuming at step {step}\n" in capfd.readouterr().out


def test_after_a_fault_in_a_rating_all_games_and_steps_are_on_disk(runs_folder):
    engine = runs_folder / "engine"
    engine.write_text("#!/bin/sh\nsleep 2\nexit 1\n")
    engine.chmod(0o755)
    rated = [
        "rating.interval_minutes=0.001",
        "rating.games=2",
        f"rating.opponents=['gomocup:{engine}']",
    ]
    settings = [*TINY_RUN, *rated, "train.checkpoint_every_steps=1000000"]
    with pytest.raises(EngineFailed, match="engine"):
        zf.train("gomoku", run="r", minutes=5, settings=settings, size=7)
    run = find("r")
    log = EpisodeLog(run.episodes, run.game(), ReplayConfig())
    position = log.position
    log.close()
    checkpoint = newest_checkpoint(run.folder)
    assert checkpoint["step"] > 0
    assert checkpoint["rest"]["replay"]["log"]["num_episodes"] == position.num_episodes
    assert metrics.latest(run.folder)["status"]["games"] == position.num_episodes


def test_a_run_whose_checkpoints_are_all_damaged_is_refused_and_left_as_it_is(runs_folder):
    settings = [*TINY_RUN, "train.checkpoint_every_steps=10"]
    zf.train("tictactoe", run="r", steps=30, settings=settings)
    history = (runs_folder / "r" / "metrics.jsonl").read_bytes()
    damaged = list((runs_folder / "r" / "checkpoints").glob("*.safetensors"))
    for path in damaged:
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(BadBytes, match=r"checkpoints: no checkpoint is intact.*use another name"):
        zf.train("tictactoe", run="r", steps=60, settings=settings)
    assert (runs_folder / "r" / "metrics.jsonl").read_bytes() == history
    assert sorted((runs_folder / "r" / "checkpoints").glob("*.safetensors")) == sorted(damaged)


def test_a_run_that_is_at_its_end_already_plays_no_more(runs_folder, capfd, monkeypatch):
    zf.train("tictactoe", run="r", steps=5, settings=TINY_RUN)
    monkeypatch.delattr("zerofleet.fleet.embedded.make_worker")
    zf.train("tictactoe", run="r", steps=5, settings=TINY_RUN)
    assert capfd.readouterr().out.count("reached stop.steps 5") == 2
