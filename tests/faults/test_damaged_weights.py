"""Older weights are never used silently where the newest ones are damaged."""

import os
import subprocess

import pytest
from command_line import ZEROFLEET, Ran

from zerofleet import config, nets
from zerofleet.cli import warning_text
from zerofleet.infer.load import load_network
from zerofleet.runs.folder import create_or_open
from zerofleet.weights import OlderWeights, Weights, WeightsStore, refusing_older_weights

SAID = (
    "run ttt: weights 7 refused: sha256 differs from its manifest .*; the newest good ones are of "
    "step 3: run:ttt@3, --step 3"
)


@pytest.fixture(autouse=True)
def damaged_run(tmp_path, monkeypatch):
    """A run with weights of steps 0, 3 and 7, of which the last have a flipped byte."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    with create_or_open("ttt", config.load("tictactoe")) as run:
        network = nets.build(run.game(), "tiny")
        tensors = {name: value.numpy() for name, value in network.state_dict().items()}
        store = WeightsStore(run.weights)
        for version in (0, 3, 7):
            store.publish(Weights(version, network.spec.to_dict(), tensors))
        path = store.tensors_path(7)
        data = bytearray(path.read_bytes())
        data[-1] ^= 1
        path.write_bytes(data)


def test_loading_a_run_warns_where_older_weights_are_used():
    with pytest.warns(OlderWeights, match=SAID):
        assert load_network("ttt")[1] == 3
    with refusing_older_weights():
        assert load_network("ttt", 3)[1] == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "verb",
    [
        "rate tictactoe heuristic run:ttt,sims=2 --games 2",
        "gate run:ttt,sims=2 random --max-games 2",
        "export ttt ttt.onnx",
    ],
)
def test_rate_gate_and_export_refuse_older_weights_unless_a_step_is_named(capsys, tmp_path, verb):
    ran = Ran(capsys, *verb.split())
    assert (ran.status, ran.output) == (2, "")
    assert ran.errors.startswith("zerofleet: run ttt: weights 7 refused: sha256 differs")
    assert ran.errors.endswith("of step 3: run:ttt@3, --step 3\n")
    assert not (tmp_path / "ttt.onnx").exists()


def test_a_warning_of_zerofleet_is_one_line_without_the_code_that_warns():
    assert warning_text(OlderWeights("older"), OlderWeights, "load.py", 3) == "zerofleet: older\n"
    assert "load.py:3: UserWarning: of another" in warning_text(
        "of another", UserWarning, "load.py", 3
    )


@pytest.mark.long
def test_match_says_so_in_one_line_and_plays(tmp_path):
    ran = subprocess.run(
        [ZEROFLEET, "match", "tictactoe", "run:ttt,sims=2", "random", "--games", "2"],
        capture_output=True,
        text=True,
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path / "runs")},
    )
    assert ran.returncode == 0, ran.stderr
    (line,) = (line for line in ran.stderr.splitlines() if line.startswith("zerofleet: "))
    assert line.startswith("zerofleet: run ttt: weights 7 refused: sha256 differs")
