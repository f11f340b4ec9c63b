"""zerofleet sweep: what cannot work is refused before anything trains; each run trains once."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from command_line import ZEROFLEET, ran_in
from tiny_runs import TINY_RUN

from zerofleet.cli.sweep import combinations
from zerofleet.config import load
from zerofleet.errors import BadText
from zerofleet.runs.folder import create

PROJECT = Path(__file__).parents[2]
VARY = ["--vary", "search.num_simulations=2,8"]
SWEEP = ["sweep", "tictactoe", "--preset", "fast", "--name", "s", *VARY]


def test_a_sweep_has_all_combinations_and_begins_with_the_first_values() -> None:
    assert combinations(["a.b=1,2", "c.d=x,y"]) == [
        ("a.b=1", "c.d=x"),
        ("a.b=1", "c.d=y"),
        ("a.b=2", "c.d=x"),
        ("a.b=2", "c.d=y"),
    ]
    for wrong in ("a.b", "a.b=1", "a.b=1,", "a.b=1,1", "=1,2"):
        with pytest.raises(BadText, match="--vary"):
            combinations([wrong])


def refusal(folder: Path, *arguments: str) -> str:
    """The one line with which a sweep is refused; nothing was trained."""
    ran = ran_in(folder, *arguments, ZEROFLEET_RUNS=str(folder / "runs"))
    assert ran.returncode == 2
    assert ran.stderr.count("\n") == 1
    assert not list(folder.glob("runs/*/weights"))
    return ran.stderr


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (SWEEP, "say when a run stops"),
        ([*SWEEP, "--steps", "0"], "--steps 0: stop.steps must be"),
        ([*SWEEP, "--steps", "9", "--vary", "search.c_puct=1,x"], "--vary search.c_puct=x: search"),
        ([*SWEEP, "--steps", "9", "--vary", "search.puct=1,2"], "unknown setting search.puct"),
        ([*SWEEP, "--steps", "9", "--elo0", "30"], "elo0 must be below elo1"),
        ([*SWEEP, "--steps", "9", "--player", "sim=8"], "unknown setting 'sim=8'"),
        (
            [*SWEEP, "--steps", "9", "--fleet", "--vary", "opponent.share=0,0.5"],
            "opponent.share=0.5: only a run in one process",
        ),
    ],
)
def test_a_sweep_that_could_not_end_is_refused_before_it_trains(
    tmp_path: Path, arguments: list[str], fault: str
) -> None:
    assert fault in refusal(tmp_path, *arguments)


def test_runs_that_are_there_with_other_settings_are_not_compared(tmp_path: Path) -> None:
    simulations = ["search.num_simulations=4", "stop.steps=1"]
    (tmp_path / "runs" / "s-1").mkdir(parents=True)
    create(tmp_path / "runs" / "s-1", load("tictactoe", "fast", None, simulations))
    said = refusal(tmp_path, *SWEEP, "--steps", "9")
    assert "run s-1 exists with search.num_simulations=4, and this sweep has 8; choose" in said


@pytest.mark.long
@pytest.mark.parametrize("kind", ["embedded", "fleet"])
def test_a_sweep_trains_each_run_once_and_judges_it_by_gate(tmp_path: Path, kind: str) -> None:
    command = [ZEROFLEET, *SWEEP, "--steps", "30", "--player", "sims=8", "--max-games", "40"]
    # A custom loss, which the processes of the runs know by the plugin alone.
    command += ["--plugin", PROJECT / "examples" / "custom_loss.py"]
    settings = [*TINY_RUN[1:], "train.loss_terms.neg_entropy=0.01"]
    command += [part for each in settings for part in ("--set", each)]
    command += ["--output", tmp_path / "out.json"] + (["--fleet"] if kind == "fleet" else [])
    environment = {**os.environ, "ZEROFLEET_RUNS": str(tmp_path / "runs")}
    environment.pop("REDIS_URL", None)

    def train() -> tuple[list[dict[str, str]], dict[Path, bytes]]:
        """The results, and all weights."""
        ran = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=600
        )
        assert ran.returncode == 0, ran.stderr
        found = (tmp_path / "runs").glob("*/weights/*.safetensors")
        weights = {path: path.read_bytes() for path in found}
        return json.loads((tmp_path / "out.json").read_text()), weights

    (baseline, other), weights = train()
    assert "verdict" not in baseline
    assert other["verdict"] in ("accepted", "rejected", "undecided")
    assert "run:s-1,sims=8 against run:s-0,sims=8" in other["text"]
    assert len(weights) > 2
    assert train() == ([baseline, other], weights)  # nothing was trained again
