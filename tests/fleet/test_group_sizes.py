"""The number of games in a group: written, or measured at the start."""

import re

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.errors import ZerofleetError
from zerofleet.infer.calibration import CPU_SIZES


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path / "cache"))
    return tmp_path


def train(run, *settings):
    return zf.train(
        "tictactoe",
        run=run,
        steps=2,
        settings=[*TINY_RUN, "selfplay.games_per_group=0", "run.device=cpu", *settings],
    )


def test_a_run_measures_its_size_once_and_says_so(folders, capsys):
    train("first")
    train("second")
    first, second = (
        line for line in capsys.readouterr().out.splitlines() if line.startswith("games per group")
    )
    size = int(re.match(r"games per group: (\d+) \(16: [\d.,]+ k/s, 32: ", first)[1])
    assert size in CPU_SIZES
    assert second == first.replace("(", "(measured before; ")


def test_a_deterministic_run_needs_a_size_that_is_written(folders):
    with pytest.raises(ZerofleetError, match=r"needs a number in selfplay.games_per_group, such"):
        train("r", "run.deterministic=true")
    assert not (folders / "runs" / "r").exists()
