"""The scripts in examples/ do what they say, in short runs."""

import re
import runpy
from pathlib import Path

import pytest
from command_line import Ran
from onnxruntime import InferenceSession
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import metrics
from zerofleet.nets.build import CUSTOM
from zerofleet.weights import WeightsStore

EXAMPLES = Path(__file__).parent.parent / "examples"
NETWORK = ["--plugin", str(EXAMPLES / "custom_network.py")]
SETTINGS = [part for setting in TINY_RUN for part in ("--set", setting)]


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    return tmp_path


def test_custom_network_is_trained_exported_and_played_from_the_command_line(
    capsys, runs_folder, monkeypatch
):
    chosen = ["--set", "network.preset=mlp", "--set", "network.options.width=16"]
    ran = Ran(
        capsys, "train", "tictactoe", "--run", "r", "--steps", "3", *SETTINGS, *chosen, *NETWORK
    )
    assert ran.status == 0, ran.errors
    assert "mlp network of" in ran.output
    assert f"--run r {' '.join(NETWORK)}" in ran.output  # how to resume it
    onnx_file = runs_folder / "r.onnx"
    assert Ran(capsys, "export", "r", str(onnx_file), *NETWORK).status == 0
    position = zf.games.get("gomoku", size=3, line=3).new_position()
    answers = InferenceSession(onnx_file).run(None, {"observations": position.observe(0)[None]})
    assert [each.shape for each in answers] == [(1, 9), (1, 3)]

    monkeypatch.delitem(CUSTOM, "mlp")  # as in a process that was not given the file
    ran = Ran(capsys, "match", "tictactoe", "run:r,sims=2", "random", "--games", "2")
    assert ran.status == 0, ran.errors  # by the graph that the run keeps
    for arguments in (
        ["train", "tictactoe", "--run", "r", "--steps", "6"],
        ["export", "r", str(onnx_file)],
    ):
        ran = Ran(capsys, *arguments)
        assert ran.status == 2
        (line,) = ran.errors.splitlines()
        assert "network" in line
        assert " mlp;" in line
        assert "--plugin FILE.py" in line


def test_onnx_runtime_prints_nothing_about_a_custom_network(capfd, monkeypatch):
    monkeypatch.delitem(CUSTOM, "mlp", raising=False)
    runpy.run_path(str(EXAMPLES / "custom_network.py"))
    zf.infer.make_evaluator(zf.nets.build(zf.games.get("tictactoe"), "mlp"), device="cpu")
    assert capfd.readouterr().err == ""


def test_custom_loss_is_trained_from_the_command_line_and_shown_by_its_name(capsys, runs_folder):
    weight = ["--set", "train.loss_terms.neg_entropy=0.01"]
    plugin = ["--plugin", str(EXAMPLES / "custom_loss.py")]
    ran = Ran(
        capsys, "train", "tictactoe", "--run", "r", "--steps", "3", *SETTINGS, *weight, *plugin
    )
    assert ran.status == 0, ran.errors
    record = metrics.latest(runs_folder / "r")["train"]
    assert -2.3 < record["loss/neg_entropy"] < 0  # nine actions at most


def test_custom_loop_learns_from_its_own_games(tmp_path, capsys):
    train = runpy.run_path(str(EXAMPLES / "custom_loop.py"))["train"]
    game = zf.games.get("gomoku", size=3, line=3)
    evaluator = train(game, tmp_path, num_iterations=3, games_per_iteration=64)
    assert evaluator.version > 0
    newest, faults = WeightsStore(tmp_path / "weights").load_newest()
    assert (newest.version, faults) == (evaluator.version, [])
    assert "loss/policy" in capsys.readouterr().out


def test_a_plugin_that_cannot_be_run_is_one_line_with_file_and_line(capsys, tmp_path):
    broken = tmp_path / "broken.py"
    broken.write_text("import zerofleet\nzerofleet.nets.register('tiny')\n")
    ran = Ran(capsys, "train", "tictactoe", "--run", "r", "--plugin", str(broken))
    assert ran.status == 2
    assert f"{broken}:2: BadText: a network of zerofleet is called tiny" in ran.errors
    ran = Ran(capsys, "train", "tictactoe", "--run", "r", "--plugin", "nowhere.py")
    assert ran.errors == "zerofleet: nowhere.py cannot be read: No such file or directory\n"


def test_what_the_page_on_research_shows_is_what_the_examples_are():
    page = (EXAMPLES.parent / "docs" / "10-research.md").read_text()
    scripts = [path.read_text() for path in EXAMPLES.glob("*.py")]
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 5
    assert [block for block in blocks if not any(block in script for script in scripts)] == []
