"""Shipped weights: found by game and variant, and able to play."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from records import status_values

import zerofleet as zf
from zerofleet import config, nets
from zerofleet.errors import BadBytes, Unsupported
from zerofleet.metrics import MetricsLog
from zerofleet.runs.folder import create_or_open
from zerofleet.weights import Weights, WeightsStore, all_best, best_folder, find_best

PROJECT = Path(__file__).parents[2]
VARIANTS = {
    "beastybar": ("beastybar", {}),
    "backgammon": ("backgammon", {}),
    "connect4": ("connect4", {}),
    "gomoku-9": ("gomoku", {"size": 9}),
    "gomoku-15": ("gomoku", {"size": 15}),
}


def keep_weights(run: str, name: str, folder: Path) -> subprocess.CompletedProcess[str]:
    script = PROJECT / "scripts" / "keep-weights"
    command = [sys.executable, script, run, name, "--folder", folder]
    how = ["--commit", "1a2b3c4", "--machine", "two cores"]
    return subprocess.run([*command, *how], capture_output=True, text=True)


def test_the_folder_is_that_of_this_checkout():
    assert best_folder() == PROJECT / "weights"


@pytest.mark.parametrize("name", VARIANTS)
def test_weights_of_the_project_are_of_the_variant_they_are_named_after_and_beat_random(name):
    game_name, options = VARIANTS[name]
    game = zf.games.get(game_name, **options)
    best = find_best(game.name, game.options)
    assert best is not None
    assert best.path.parent == PROJECT / "weights" / name
    assert (best.path.parent / "about.json").exists()
    assert config.read(best.path.parent / "config.yaml").game.name == game_name
    played = zf.arena.match(game, "best,sims=0", "random", num_games=40)
    assert played.interval[0] > 0.5


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """What scripts/keep-weights makes of a run of 9x9 Gomoku, in place of what zerofleet has."""
    folder = tmp_path_factory.mktemp("best")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_RUNS", str(folder / "runs"))
        patch.setattr("zerofleet.weights.best.best_folder", lambda: folder / "weights")
        make_run_of_gomoku()
        made = keep_weights("g9", "gomoku-9", folder / "weights")
        assert made.returncode == 0, made.stderr
        yield folder / "weights" / "gomoku-9"


def make_run_of_gomoku():
    with create_or_open("g9", config.load("gomoku", "fast")) as run:
        network = nets.build(run.game(), "tiny")
        tensors = {name: value.numpy() for name, value in network.state_dict().items()}
        WeightsStore(run.weights).publish(Weights(40, network.spec.to_dict(), tensors))
        with MetricsLog(run.folder) as log:
            log.append("status", 40, status_values(elapsed_s=90.0, games=70))


def test_a_run_is_kept_with_its_settings_and_how_it_was_trained(kept):
    assert sorted(path.name for path in kept.iterdir()) == [
        *("about.json", "config.yaml", "graph.json", "graph.onnx"),
        *("weights.json", "weights.safetensors"),
    ]
    about = json.loads((kept / "about.json").read_text())
    assert (about["minutes"], about["games"], about["steps"]) == (1.5, 70, 40)
    assert (about["commit"], about["machine"]) == ("1a2b3c4", "two cores")
    assert config.read(kept / "config.yaml").game.options["size"] == 9


def test_best_plays_as_the_run_whose_weights_were_kept(kept):
    game = zf.games.get("gomoku", size=9)
    positions = [game.from_text(text) for text in ("", "e5", "e5 d4", "e5 d4 f6")]
    for settings in ("sims=0", "greedy", "sims=20"):
        best, run = (zf.arena.player(game, f"{kind},{settings}") for kind in ("best", "run:g9"))
        assert best.choose_many(positions, range(4)) == run.choose_many(positions, range(4))


def test_a_variant_without_weights_names_those_that_have_some(kept):
    message = (
        "no weights come with zerofleet for gomoku size=15 line=5 rule=freestyle; "
        "there are some for: gomoku line=5 rule=freestyle size=9"
    )
    with pytest.raises(Unsupported, match=message):
        zf.arena.player("gomoku", "best")


def test_a_damaged_manifest_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr("zerofleet.weights.best.best_folder", lambda: tmp_path)
    (tmp_path / "gomoku-9").mkdir()
    (tmp_path / "gomoku-9" / "weights.json").write_text("{}")
    with pytest.raises(BadBytes, match=r"gomoku-9/weights.json is damaged"):
        all_best()


def test_a_run_without_weights_is_not_kept(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    with create_or_open("c4", config.load("connect4")):
        pass
    made = keep_weights("c4", "connect4", tmp_path / "weights")
    assert made.returncode == 1
    assert made.stderr == "keep-weights: run c4 has no weights\n"
    assert not (tmp_path / "weights").exists()
