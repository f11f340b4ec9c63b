"""bench/gpu from the command line, as far as it runs without a GPU: the list of measurements."""

import subprocess
from pathlib import Path

import pytest
import torch
from command_line import ZEROFLEET, ran_script

SCRIPT = Path(__file__).parents[2] / "bench" / "gpu" / "run.py"


def test_what_follows_gpu_goes_to_its_benchmark():
    helped = subprocess.run(
        [ZEROFLEET, "bench", "gpu", "--help"], capture_output=True, text=True, timeout=120
    )
    assert "--only" in helped.stdout
    assert "installed" not in helped.stdout


def test_it_lists_by_names_and_by_goals():
    listed = ran_script(SCRIPT, "--list", "--only", "overlap beastybar *", "goals")
    assert listed.returncode == 0, listed.stderr
    names = listed.stdout.splitlines()
    assert names[0].startswith("overlap beastybar ")
    assert len(set(names)) == len(names)
    assert {
        "selfplay beastybar large puct-200",
        "selfplay beastybar large gumbel-32",
        "selfplay gomoku medium puct-400",
        "search backgammon 100",
        "training beastybar large 16384",
        "overlap beastybar large puct-200",
    } <= set(names)


def test_the_ablation_has_a_name_of_its_own():
    listed = ran_script(SCRIPT, "--list", "--only", "ablation")
    assert listed.returncode == 0, listed.stderr
    names = listed.stdout.splitlines()
    assert len(names) == 2
    assert all(name.startswith("ablation ") for name in names)


def test_an_unknown_name_is_refused_by_name():
    refused = ran_script(SCRIPT, "--list", "--only", "goals", "overlap chess *")
    assert refused.returncode == 2
    assert "no measurement matches overlap chess *; see --list" in refused.stderr


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA GPU here")
def test_without_a_gpu_it_says_so():
    refused = ran_script(SCRIPT, "--only", "goals", "--no-record")
    assert refused.returncode == 2
    assert "this machine has no CUDA GPU that torch can use" in refused.stderr
