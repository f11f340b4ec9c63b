"""The number of games in a group: written, or measured at the start."""

import re

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import config, nets
from zerofleet.errors import ZerofleetError
from zerofleet.fleet.group_sizes import games_per_group
from zerofleet.fleet.hardware import ThreadPlan
from zerofleet.infer.calibration import CPU_SIZES


@pytest.fixture
def folders(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("zerofleet.infer.calibration.WARM_UP_S", 0.0)
    monkeypatch.setattr("zerofleet.infer.calibration.MEASURED_S", 0.05)
    return tmp_path


MEASURED = ["selfplay.games_per_group=0", "run.device=cpu", "run.evaluator=torch"]


def train(run, *settings):
    return zf.train(
        "tictactoe",
        run=run,
        steps=2,
        settings=[*TINY_RUN, *MEASURED, *settings],
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


def test_with_search_threads_their_demand_is_measured_and_printed(folders):
    settings = config.load("connect4", overrides=MEASURED)
    game, said = zf.games.get("connect4"), []
    plan = ThreadPlan(num_workers=1, search=2, training=1)
    size = games_per_group(settings, game, nets.build(game, "tiny"), "cpu", plan, said.append)
    assert size in CPU_SIZES
    (line,) = said
    assert float(re.search(r"; search ([\d.,]+) k/s\)$", line)[1].replace(",", "")) > 0


def test_a_deterministic_run_needs_a_fixed_size(folders):
    with pytest.raises(ZerofleetError, match=r"needs a number in selfplay.games_per_group, such"):
        train("r", "run.deterministic=true")
    assert not (folders / "runs" / "r").exists()
