"""A killed run resumes as if nothing had happened, or without loss."""

import hashlib
import json
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import fleet_spoils
import pytest
from command_line import ZEROFLEET
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.config import read
from zerofleet.replay import EpisodeLog
from zerofleet.runs.summaries import summary
from zerofleet.weights import WeightsStore

SETTINGS = [*TINY_RUN, "train.checkpoint_every_steps=15"]


def command(steps, deterministic):
    settings = [word for setting in SETTINGS for word in ("--set", setting)]
    mode = ["--deterministic"] if deterministic else []
    return [
        ZEROFLEET,
        "train", "tictactoe", "--run", "r", "--steps", str(steps), *mode, *settings,
    ]  # fmt: skip


def environment_of(folder):
    return {"ZEROFLEET_RUNS": str(folder), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}


def start(folder, steps, deterministic):
    return subprocess.Popen(
        command(steps, deterministic),
        env=environment_of(folder),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run_to_the_end(folder, steps, deterministic):
    process = start(folder, steps, deterministic)
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 0, output
    return output


def die_before(method, count, folder):
    """The exit status of a deterministic run that dies before the so-many-th call of a method."""
    spoiled = (
        "import pathlib; from fleet_spoils import die_at; from zerofleet.cli import main;"
        f"die_at({method!r}, 'before', {count}, pathlib.Path({str(folder / 'note')!r}));"
        f"main({command(90, deterministic=True)[1:]!r})"
    )
    environment = environment_of(folder) | {"PYTHONPATH": str(Path(fleet_spoils.__file__).parent)}
    return subprocess.run([sys.executable, "-c", spoiled], env=environment, timeout=600).returncode


SOME_GAMES_BYTES = 2000
"""More than the head of the log, and a few games."""


def log_bytes(folder):
    return sum(path.stat().st_size for path in Path(folder).glob("r/episodes/*.zfl"))


def run_with_kills(folder, steps, deterministic, num_kills, seed, after_kill=lambda: None):
    """Kills the run so often, each time at a random moment after new games came to its log."""
    rng = random.Random(seed)
    for _ in range(num_kills):
        num_bytes = log_bytes(folder)
        process = start(folder, steps, deterministic)
        while process.poll() is None and log_bytes(folder) < num_bytes + SOME_GAMES_BYTES:
            time.sleep(0.05)
        time.sleep(rng.uniform(0, 3))
        process.kill()
        process.communicate()
        after_kill()
    return run_to_the_end(folder, steps, deterministic)


def episodes_of(folder):
    run = Path(folder) / "r"
    config = read(run / "config.yaml")
    game = zf.games.get(config.game.name, **config.game.options)
    log = EpisodeLog(run / "episodes", game, config.replay)
    try:
        return [zf.games.Episode.decode(data) for data in log.episodes()]
    finally:
        log.close()


def ids_of(folder):
    return [(episode.worker, episode.sequence) for episode in episodes_of(folder)]


def losses_of(folder):
    lines = (Path(folder) / "r" / "metrics.jsonl").read_text().splitlines()
    records = [json.loads(line) for line in lines]
    for record in records:
        del record["time"]
    return [record for record in records if record["kind"] == "train"]


def newest_weights_hash(folder):
    path = max((Path(folder) / "r" / "weights").glob("*.safetensors"))
    return path.name, hashlib.sha256(path.read_bytes()).hexdigest()


def check_deterministic(whole, killed, steps, num_kills):
    """That a run with kills ends like the one in `whole`."""
    assert newest_weights_hash(whole)[0] == f"{steps:09d}.safetensors"
    run_with_kills(killed, steps, True, num_kills, seed=1)
    assert ids_of(killed) == ids_of(whole)
    assert losses_of(killed) == losses_of(whole)
    assert newest_weights_hash(killed) == newest_weights_hash(whole)


def check_side_by_side(tmp_path, steps, num_kills):
    logged = set()
    output = run_with_kills(
        tmp_path,
        steps,
        False,
        num_kills,
        seed=2,
        after_kill=lambda: logged.update(ids_of(tmp_path)),
    )
    assert f"{steps} steps" in output
    ids = ids_of(tmp_path)
    assert len(ids) == len(set(ids))
    assert logged
    assert logged <= set(ids), "a game that was logged before a kill is gone"
    for episode in episodes_of(tmp_path):
        assert episode.outcome_first_player >= 0


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    """The folder of a deterministic run of 90 steps, and what it said."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return folder, run_to_the_end(folder, 90, deterministic=True)


def test_a_killed_deterministic_run_ends_like_an_undisturbed_one(undisturbed, tmp_path):
    check_deterministic(undisturbed[0], tmp_path, steps=90, num_kills=2)


def test_a_run_killed_while_it_saves_for_the_first_time_resumes(undisturbed, tmp_path):
    killed_at = [
        ("zerofleet.training.checkpoint:CheckpointStore.save", 1, 1),
        ("zerofleet.weights:WeightsStore.publish", 2, 1),  # the first is that of step 0
        ("zerofleet.training.checkpoint:CheckpointStore.save", 1, 2),
    ]
    weights = WeightsStore(tmp_path / "r" / "weights")
    for method, count, num_versions in killed_at:
        assert die_before(method, count, tmp_path) == -signal.SIGKILL
        assert len(weights.versions()) == num_versions
    run_to_the_end(tmp_path, 90, deterministic=True)
    assert newest_weights_hash(tmp_path) == newest_weights_hash(undisturbed[0])


def test_a_deterministic_run_counts_its_games_and_says_which_end_it_reached(undisturbed):
    folder, said = undisturbed
    num_games = len(episodes_of(folder))
    assert f"r: 90 steps, {num_games} games; reached stop.steps 90" in said
    assert summary(folder / "r").num_games == num_games


def test_a_killed_run_loses_no_game_and_counts_none_twice(tmp_path):
    check_side_by_side(tmp_path, steps=90, num_kills=2)


@pytest.mark.long
def test_twenty_kills_of_a_deterministic_run_change_nothing(tmp_path):
    run_to_the_end(tmp_path / "whole", 600, deterministic=True)
    check_deterministic(tmp_path / "whole", tmp_path / "killed", steps=600, num_kills=20)


@pytest.mark.long
def test_twenty_kills_lose_no_game(tmp_path):
    check_side_by_side(tmp_path, steps=600, num_kills=20)


def test_ctrl_c_writes_a_checkpoint_and_says_how_to_resume(tmp_path):
    process = start(tmp_path, 100_000, deterministic=False)
    while process.poll() is None and log_bytes(tmp_path) < SOME_GAMES_BYTES:
        time.sleep(0.05)
    process.terminate()
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    assert re.search(r"^resume with: .*zerofleet train tictactoe --run r$", output, re.MULTILINE)
    assert list((tmp_path / "r" / "checkpoints").glob("*.json"))
