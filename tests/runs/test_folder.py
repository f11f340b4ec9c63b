"""Run folders: created once, resumed, held by one process at a time."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from records import status_values

from zerofleet import config
from zerofleet.config import Config
from zerofleet.errors import BadBytes, BadText, Inconsistent, Unsupported
from zerofleet.metrics import MetricsLog
from zerofleet.runs.folder import (
    Run,
    config_for,
    create_or_open,
    find,
    keep_settings,
    remove,
)
from zerofleet.runs.lock import RunInUse
from zerofleet.runs.summaries import list_runs


@pytest.fixture(autouse=True)
def runs_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ZEROFLEET_RUNS", raising=False)
    return tmp_path / "runs"


def connect4(*overrides: str) -> Config:
    return config.load("connect4", "fast", overrides=overrides)


PRESET_SIMULATIONS = connect4().search.num_simulations


def made(name: str, settings: Config | None = None) -> Run:
    with create_or_open(name, settings or connect4()) as run:
        return run


# ---- making and going on


def test_a_new_run_says_what_it_is_and_keeps_its_settings(runs_here: Path) -> None:
    settings = connect4("search.num_simulations=64", "train.learning_rate=3e-5")
    run = made("c4", settings)
    assert run.folder.absolute() == runs_here / "c4"
    facts = json.loads((runs_here / "c4" / "run.json").read_text())
    assert (facts["format"], facts["game"], facts["options"]) == (2, "connect4", {})
    assert facts["created"].endswith("Z")
    assert config.read(run.config_path) == settings


def test_runs_are_where_the_environment_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "elsewhere" / "deep"))
    assert made("c4").folder == tmp_path / "elsewhere" / "deep" / "c4"
    monkeypatch.setenv("ZEROFLEET_RUNS", "/proc/none")
    with pytest.raises(Inconsistent, match=r"^/proc/none/c4 cannot be created: "):
        made("c4")


def test_an_existing_run_is_resumed(capsys: pytest.CaptureFixture[str]) -> None:
    first, again = made("c4"), made("c4")
    assert first == again == find("c4")
    assert capsys.readouterr().out == ""


def test_changed_settings_are_printed_and_saved() -> None:
    made("c4")
    said: list[str] = []
    changed = connect4("search.num_simulations=64", "stop.minutes=5")
    with create_or_open("c4", changed) as run:
        keep_settings(run, changed, say=said.append)
        assert config.read(run.config_path) == changed
    assert said == [
        f"runs/c4: search.num_simulations was {PRESET_SIMULATIONS}, is now 64",
        "runs/c4: stop.minutes was None, is now 5.0",
    ]


def test_a_run_keeps_its_own_settings_unless_others_are_named() -> None:
    made("c4", connect4("search.num_simulations=64"))
    assert config_for("c4", "connect4").search.num_simulations == 64
    assert config_for("c4", "connect4", preset="fast").search.num_simulations == PRESET_SIMULATIONS
    again = config_for("c4", "connect4", overrides=["stop.steps=3"])
    assert (again.search.num_simulations, again.stop.steps) == (64, 3)
    assert config_for("new", "connect4").search.num_simulations == PRESET_SIMULATIONS


def test_a_run_of_another_game_or_options_is_refused_and_left_alone() -> None:
    made("c4")
    before = Path("runs/c4/config.yaml").read_bytes()
    with (
        pytest.raises(
            Inconsistent,
            match="runs/c4 is a run of connect4, not of gomoku size=9 line=5 rule=freestyle; use",
        ),
        create_or_open("c4", config.load("gomoku")),
    ):
        pass
    with pytest.raises(Inconsistent, match=r"runs/c4/config.yaml: is for connect4, not for gomoku"):
        config_for("c4", "gomoku")
    made("g", config.load("gomoku"))
    with (
        pytest.raises(Inconsistent, match=r"is a run of gomoku size=9 .*, not of gomoku size=15"),
        create_or_open("g", config.load("gomoku", "standard")),
    ):
        pass
    with pytest.raises(BadText, match=r"config\.yaml: tictactoe: size must be 3, got 9"):
        config_for("g", "tictactoe")
    assert Path("runs/c4/config.yaml").read_bytes() == before


def test_a_run_keeps_its_network() -> None:
    made("c4")
    with (
        pytest.raises(
            Inconsistent, match=r"runs/c4 was started with network\.preset=tiny, which cannot"
        ),
        create_or_open("c4", connect4("network.preset=small", "stop.steps=3")),
    ):
        pass
    assert config.read(find("c4").config_path) == connect4()


def test_a_run_of_another_format_is_refused_by_name() -> None:
    path = made("c4").folder / "run.json"
    path.write_text(path.read_text().replace('"format": 2', '"format": 1'))
    with pytest.raises(Unsupported, match="runs/c4 has run format 1; this zerofleet reads 2"):
        made("c4")


@pytest.mark.parametrize(
    "text", ["", "{", "[" * 100_000, "9" * 5000, "[]", '{"format": 2}', '{"format": 2, "id": 3}']
)
def test_a_damaged_run_is_refused_by_name(text: str) -> None:
    (made("c4").folder / "run.json").write_text(text)
    with pytest.raises(BadBytes, match=r"runs/c4/run\.json is damaged: .+") as refused:
        made("c4")
    assert "\n" not in str(refused.value)


def test_what_is_wrong_with_a_run_is_named() -> None:
    path = made("c4").folder / "run.json"
    path.write_text(path.read_text().replace('"game"', '"gane"'))
    with pytest.raises(BadBytes, match=r"runs/c4/run\.json is damaged: game: Field required$"):
        made("c4")


def test_a_crash_while_a_run_is_made_leaves_a_name_that_can_be_used() -> None:
    folder = Path("runs/c4")
    folder.mkdir(parents=True)
    (folder / "run.lock").touch()
    (folder / "config.yaml").write_text("half a")
    (folder / "run.json.new").write_text("half a")
    assert list_runs() == []
    assert config.read(made("c4").config_path) == connect4()


def test_a_folder_that_is_no_run_is_left_alone() -> None:
    folder = Path("runs/photos")
    folder.mkdir(parents=True)
    (folder / "cat.png").touch()
    with pytest.raises(
        Inconsistent, match=r"runs/photos is not a run: it has files but no run\.json"
    ):
        made("photos")
    assert [path.name for path in folder.iterdir()] == ["cat.png"]
    Path("runs/file").touch()
    with pytest.raises(Inconsistent, match="runs/file exists and is not a folder"):
        made("file")


@pytest.mark.parametrize(
    "name", ["", "..", "../c4", "a/b", ".hidden", "-x", "a b", "x" * 101, "best"]
)
def test_a_name_that_is_no_plain_name_is_refused(name: str, runs_here: Path) -> None:
    with pytest.raises(BadText, match="a run cannot be called"):
        made(name)
    assert not runs_here.exists()


# ---- listing and removing


def test_runs_lists_how_far_each_is() -> None:
    run = made("c4")
    with MetricsLog(run.folder) as log:
        log.append("status", 100, status_values(games=40))
        log.append("train", 120, {"loss": 1.0})
    made("g", config.load("gomoku"))
    c4, g = list_runs()
    assert (c4.name, c4.game, c4.num_steps, c4.num_games) == ("c4", "connect4", 120, 40)
    assert (g.name, g.game) == ("g", "gomoku size=9 line=5 rule=freestyle")
    assert (g.num_steps, g.num_games) == (0, 0)
    assert 0 <= c4.age_s < 60
    assert c4.size_bytes == sum(path.stat().st_size for path in run.folder.iterdir())


def test_a_damaged_run_is_listed_with_its_fault_beside_the_others() -> None:
    made("good")
    (made("bad").folder / "run.json").write_text("{")
    bad, good = list_runs()
    assert bad.fault.startswith("runs/bad/run.json is damaged")
    assert good.fault == ""


def test_an_unknown_run_is_refused_with_the_nearest() -> None:
    made("gomoku")
    with pytest.raises(
        Unsupported, match=r"unknown run gomku; did you mean gomoku\? known: gomoku \(in runs\)"
    ):
        find("gomku")


def test_a_removed_run_is_gone_damaged_or_not(runs_here: Path) -> None:
    made("c4")
    (made("bad").folder / "run.json").write_text("{")
    remove("c4")
    remove("bad")
    assert list(runs_here.iterdir()) == []


def test_a_run_that_is_a_link_is_not_removed(runs_here: Path, tmp_path: Path) -> None:
    elsewhere = made("c4").folder.rename(tmp_path / "elsewhere")
    (runs_here / "c4").symlink_to(elsewhere)
    with pytest.raises(Inconsistent, match=r"is a link to .*elsewhere; remove the link by hand"):
        remove("c4")
    assert [path.name for path in runs_here.iterdir()] == ["c4"]


# ---- one process at a time

HOLD = """
import sys
from zerofleet import config
from zerofleet.runs.folder import create_or_open
with create_or_open("c4", config.load("connect4")):
    print("has it", flush=True)
    sys.stdin.read()
"""


def holder() -> subprocess.Popen[str]:
    """Another process, which has the run."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "has it\n"
    return process


def test_a_second_process_is_refused_by_name_until_the_first_is_gone() -> None:
    with holder() as first:
        try:
            said = f"runs/c4 is in use by process {first.pid} on {socket.gethostname()}; stop that"
            with pytest.raises(RunInUse, match=said):
                made("c4")
            with pytest.raises(RunInUse, match=said):
                remove("c4")
            assert [run.name for run in list_runs()] == ["c4"]
        finally:
            os.kill(first.pid, signal.SIGKILL)
        first.wait()
        assert made("c4").name == "c4"


def test_a_run_is_let_go_when_its_context_ends_even_by_an_error() -> None:
    with pytest.raises(ZeroDivisionError), create_or_open("c4", connect4()):
        raise ZeroDivisionError
    made("c4")
