"""Examples in help texts that need a separate process, run as a user would run them."""

import re
import signal
import subprocess
from pathlib import Path

import pytest
from command_line import ZEROFLEET, example_of


def example(capsys: pytest.CaptureFixture[str], verb: str) -> list[str]:
    return [str(ZEROFLEET), *example_of(capsys, verb)]


def test_train_begins_ends_by_ctrl_c_and_its_run_is_exported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with subprocess.Popen(
        example(capsys, "train"), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while "games" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert f"play with:   {ZEROFLEET} play connect4 --against run:c4" in output
    subprocess.run(example(capsys, "export"), cwd=tmp_path, check=True)
    assert (tmp_path / "c4.onnx").stat().st_size > 100_000


def test_judge_judges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = subprocess.run(example(capsys, "judge"), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert ran.returncode == 0
    assert "20 decisions" in ran.stdout


def test_gomocup_answers_a_tournament(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = "START 15\nBEGIN\nEND\n"
    ran = subprocess.run(
        example(capsys, "gomocup"), cwd=tmp_path, input=asked, stdout=subprocess.PIPE, text=True
    )
    assert ran.returncode == 0
    assert re.search(r"OK\n(?:.*\n)*\d+,\d+\n", ran.stdout), ran.stdout


@pytest.mark.long
def test_bench_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ran = subprocess.run(example(capsys, "bench"), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert ran.returncode == 0
    assert "gomoku batched search" in ran.stdout
