"""The preset of a run that is begun without one."""

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.config import load, preset_names
from zerofleet.errors import Unsupported
from zerofleet.fleet import machine
from zerofleet.fleet.machine import Machine, fitting_preset, name_and_preset

GIB = 2**30
LAPTOP = Machine("cpu", 2)
H200 = Machine("cuda", 16, "NVIDIA H200", 1, 139 * GIB)
EIGHT_H100 = Machine("cuda", 192, "NVIDIA H100 80GB HBM3", 8, 79 * GIB)


@pytest.mark.parametrize(
    ("there", "preset", "own_game_preset"),
    [
        (LAPTOP, "fast", "fast"),
        (Machine("cpu", 64), "fast", "fast"),
        (Machine("mps", 8), "standard", "standard"),
        (Machine("cuda", 8, "NVIDIA GeForce RTX 3060", 1, 12 * GIB), "standard", "standard"),
        (Machine("cuda", 16, "NVIDIA A100-SXM4-80GB", 1, 79 * GIB), "production", "production"),
        (Machine("cuda", 4, "NVIDIA A100-SXM4-80GB", 1, 79 * GIB), "standard", "standard"),
        (H200, "h200", "production"),
        (Machine("cuda", 16, "NVIDIA H100 PCIe", 1, 79 * GIB), "h100", "production"),
        (EIGHT_H100, "h100_8gpu", "production"),
    ],
    ids=str,
)
def test_a_machine_gets_the_preset_that_fits_it(there, preset, own_game_preset):
    assert fitting_preset(there, preset_names("gomoku")) == preset
    assert fitting_preset(there, preset_names("sticks.py:Sticks")) == own_game_preset


def test_a_machine_is_said_as_people_say_it():
    assert str(LAPTOP) == "2 CPU cores without a GPU"
    assert str(H200) == "1 NVIDIA H200 (139 GiB) and 16 CPU cores"


@pytest.fixture
def on_an_h200(monkeypatch):
    """What a run would begin with there; with run.device=cpu its GPU does not count."""
    there = {"auto": H200, "cpu": LAPTOP}
    monkeypatch.setattr(machine, "this_machine", lambda device="auto": there[device])
    monkeypatch.setattr(machine, "run_names", lambda: ["beastybar-h200"])


@pytest.mark.parametrize(
    ("run", "preset", "settings", "expected"),
    [
        (None, None, [], ("connect4-h200", "h200")),
        ("c4", None, [], ("c4", "h200")),
        ("c4", "fast", [], ("c4", "fast")),
        (None, None, ["run.device=cpu"], ("connect4-fast", "fast")),
        ("beastybar-h200", None, [], ("beastybar-h200", None)),
    ],
)
def test_only_a_new_run_without_a_preset_takes_the_fitting_one(
    on_an_h200, run, preset, settings, expected
):
    said = []
    assert name_and_preset("connect4", run, preset, settings, said.append) == expected
    is_chosen = preset is None and expected[1] is not None
    assert [text.partition(":")[0] for text in said] == ["no preset was named"] * is_chosen


def test_the_run_of_the_fitting_preset_is_resumed_as_it_is(on_an_h200):
    assert name_and_preset("beastybar", None, None, []) == ("beastybar-h200", None)


def test_a_game_that_is_not_known_is_refused_before_torch_is_loaded():
    with pytest.raises(Unsupported, match="unknown game conect4; did you mean connect4"):
        name_and_preset("conect4", None, None, [])


def test_a_run_without_a_preset_has_the_settings_of_the_one_that_is_said(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    monkeypatch.setattr(machine, "this_machine", lambda device="auto": LAPTOP)
    run = zf.train("tictactoe", steps=1, settings=TINY_RUN)
    said = "no preset was named: taking fast, which fits 2 CPU cores without a GPU"
    assert said in capsys.readouterr().out
    assert run.name == "tictactoe-fast"
    fast = load("tictactoe", "fast", overrides=[*TINY_RUN, "stop.steps=1"])
    assert run.config_path.read_text() == fast.to_yaml()
