"""Examples in help texts that take a process of their own, as a person would run them."""

import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ZEROFLEET = str(Path(sys.executable).with_name("zerofleet"))


def example(verb: str) -> list[str]:
    text = subprocess.run([ZEROFLEET, verb, "--help"], stdout=subprocess.PIPE, text=True).stdout
    found = re.search(r"Example: zerofleet (.+)", text)
    assert found, text
    return [ZEROFLEET, *shlex.split(found[1])]


def test_train_begins_ends_by_ctrl_c_and_its_run_is_exported(tmp_path: Path) -> None:
    with subprocess.Popen(
        example("train"), cwd=tmp_path, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        while "games" not in process.stdout.readline():
            assert process.poll() is None
        process.send_signal(signal.SIGINT)
        output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert "play it:    zerofleet play connect4 --against run:c4" in output
    subprocess.run(example("export"), cwd=tmp_path, check=True)
    assert (tmp_path / "c4.onnx").stat().st_size > 100_000


def test_judge_judges(tmp_path: Path) -> None:
    ran = subprocess.run(example("judge"), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert ran.returncode == 0
    assert "20 decisions" in ran.stdout


def test_gomocup_answers_a_tournament(tmp_path: Path) -> None:
    asked = "START 15\nBEGIN\nEND\n"
    ran = subprocess.run(
        example("gomocup"), cwd=tmp_path, input=asked, stdout=subprocess.PIPE, text=True
    )
    assert ran.returncode == 0
    assert re.search(r"OK\n(?:.*\n)*\d+,\d+\n", ran.stdout), ran.stdout


@pytest.mark.long
def test_bench_measures(tmp_path: Path) -> None:
    ran = subprocess.run(example("bench"), cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    assert ran.returncode == 0
    assert "gomoku batched search" in ran.stdout
