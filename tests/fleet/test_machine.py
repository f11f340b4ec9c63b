"""The preset of a run that is started without one."""

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


@pytest.mark.parametrize(
    ("there", "preset"),
    [
        (LAPTOP, "fast"),
        (Machine("cpu", 64), "fast"),
        (Machine("mps", 8), "standard"),
        (Machine("cuda", 8, "NVIDIA GeForce RTX 3060", 1, 12 * GIB), "standard"),
        (H200, "standard"),
    ],
    ids=str,
)
def test_a_machine_gets_the_preset_that_fits_it(there, preset):
    assert fitting_preset(there) == preset
    assert {preset} <= set(preset_names("gomoku")) & set(preset_names("sticks.py:Sticks"))


def test_a_machine_is_described_in_readable_units():
    assert str(LAPTOP) == "2 CPU cores without a GPU"
    assert str(H200) == "1 NVIDIA H200 (139 GiB) and 16 CPU cores"


@pytest.fixture
def on_an_h200(monkeypatch):
    """What a run would begin with there; with run.device=cpu its GPU does not count."""
    there = {"auto": H200, "cpu": LAPTOP}
    monkeypatch.setattr(machine, "this_machine", lambda device="auto": there[device])
    monkeypatch.setattr(machine, "run_names", lambda: ["beastybar-standard"])


@pytest.mark.parametrize(
    ("run", "preset", "settings", "expected"),
    [
        (None, None, [], ("connect4-standard", "standard")),
        ("c4", None, [], ("c4", "standard")),
        ("c4", "fast", [], ("c4", "fast")),
        (None, None, ["run.device=cpu"], ("connect4-fast", "fast")),
        ("beastybar-standard", None, [], ("beastybar-standard", None)),
    ],
)
def test_only_a_new_run_without_a_preset_takes_the_fitting_one(
    on_an_h200, run, preset, settings, expected
):
    said = []
    assert name_and_preset("connect4", run, preset, settings, said.append) == expected
    is_chosen = preset is None and expected[1] is not None
    assert [text.partition(":")[0] for text in said] == ["no preset given"] * is_chosen


def test_the_run_of_the_fitting_preset_is_resumed_as_it_is(on_an_h200):
    assert name_and_preset("beastybar", None, None, []) == ("beastybar-standard", None)


def test_a_game_that_is_not_known_is_refused_before_torch_is_loaded():
    with pytest.raises(Unsupported, match="unknown game conect4; did you mean connect4"):
        name_and_preset("conect4", None, None, [])


def test_a_run_without_a_preset_has_the_settings_of_the_one_that_is_printed(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    monkeypatch.setattr(machine, "this_machine", lambda device="auto": LAPTOP)
    run = zf.train("tictactoe", steps=1, settings=TINY_RUN)
    said = "no preset given: using fast, which fits 2 CPU cores without a GPU"
    assert said in capsys.readouterr().out
    assert run.name == "tictactoe-fast"
    fast = load("tictactoe", "fast", overrides=[*TINY_RUN, "stop.steps=1"])
    assert run.config_path.read_text() == fast.to_yaml()
