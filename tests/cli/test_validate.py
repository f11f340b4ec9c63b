"""zerofleet validate: what it prints, its page, its exit status, and that it leaves no process."""

import json
import os
import signal
import subprocess
import time
from importlib import import_module
from pathlib import Path

import pytest
from command_line import TRAIN_ONLY, ZEROFLEET, Ran, example_of, ran_without

from zerofleet.fleet.validation import NAMES
from zerofleet.report.validation import CheckResult, validation_page

PATIENCE_S = 300


@pytest.fixture
def without_records(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A checkout in which no benchmark was recorded."""
    (tmp_path / "results").mkdir()
    monkeypatch.chdir(tmp_path)
    # By its module: the package has the verb under the same name.
    monkeypatch.setattr(import_module("zerofleet.cli.validate"), "BENCHMARKS", tmp_path)


@pytest.mark.usefixtures("without_records")
def test_what_cannot_be_checked_is_skipped_with_the_reason_and_fails_if_that_is_asked_for(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = Ran(capsys, "validate", "--quick", "--only", "throughput")
    assert ran.status == 0
    assert ran.output.endswith("0 passed, 0 failed, 1 skipped\npage: validation.html\n")
    assert "no record of tictactoe on" in (tmp_path / "validation.html").read_text()
    ran = Ran(capsys, "validate", "--quick", "--only", "throughput", "--strict", "--json")
    assert ran.status == 1
    (check,) = json.loads(ran.output)["checks"]
    assert (check["name"], check["verdict"]) == ("throughput", "skipped")


def test_without_torch_nothing_passes(tmp_path: Path) -> None:
    ran = ran_without(TRAIN_ONLY, tmp_path, "validate", "--quick")
    assert ran.returncode == 0, ran.stderr
    assert f"0 passed, 0 failed, {len(NAMES)} skipped" in ran.stdout
    assert "zerofleet[train]" in ran.stdout


def test_an_unknown_check_is_refused_before_anything_is_run(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = Ran(capsys, "validate", "--only", "count")
    assert ran.status == 2
    assert ran.errors.startswith("zerofleet: unknown check count; did you mean counts?")


def test_the_page_shows_each_verdict_and_figures_are_only_text() -> None:
    results = [
        CheckResult("a", "Holds.", "pass", ["1 = 1"], 0.5),
        CheckResult("b", "Holds too.", "fail", ["<script>alert(1)</script>"], 0.5),
    ]
    page = validation_page("Validation: x", {"platform": "p"}, results)
    assert "1 passed, 1 failed, 0 skipped" in page
    assert 'class="verdict fail">fail<' in page
    assert "<script" not in page
    assert "<img" not in page


# ---- the whole of it


def left_processes(folder: Path) -> list[int]:
    """Those whose runs are below this folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"ZEROFLEET_RUNS={folder}".encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


@pytest.mark.long
def test_the_example_validates_this_machine_with_every_check(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    ran = subprocess.run(
        [ZEROFLEET, *example_of(capsys, "validate"), "--json"],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    verdicts = {each["name"]: each["verdict"] for each in json.loads(ran.stdout)["checks"]}
    assert verdicts.pop("throughput") in ("pass", "skipped")
    assert set(verdicts.values()) == {"pass"}
    assert "Learning curves" in (tmp_path / "validation.html").read_text()
    assert left_processes(tmp_path) == []
    assert list(tmp_path.glob("zerofleet-*")) == []


@pytest.mark.long
@pytest.mark.parametrize("check", ["deterministic", "fleet-weights"])
def test_ctrl_c_ends_it_at_once_and_leaves_no_process(tmp_path: Path, check: str) -> None:
    """In a run of this process, and in a fleet."""
    with subprocess.Popen(
        [ZEROFLEET, "validate", "--only", check],
        cwd=tmp_path,
        env={**os.environ, "TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        end_s = time.monotonic() + PATIENCE_S
        while not list(tmp_path.glob("*/runs/*/graph.json")):
            assert process.poll() is None
            assert time.monotonic() < end_s
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, output
    assert left_processes(tmp_path) == []
    assert list(tmp_path.glob("zerofleet-*")) == []
