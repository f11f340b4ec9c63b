"""The tutorial docs/7-custom-games.md does what it says: its files and blocks, as they stand.

Only the training times are replaced, by numbers of steps, so that a busy machine learns as much.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parent.parent / "docs" / "7-custom-games.md"
BLOCK = re.compile(r"(?:`(?P<file>[\w.]+)`:\n\n)?```(?P<kind>\w+)\n(?P<text>.*?)```", re.DOTALL)
STEPS = {"--minutes 0.5": "--steps 500", "--minutes 0.2": "--steps 520"}


def run(command: str, folder: Path) -> None:
    for minutes, steps in STEPS.items():
        command = command.replace(minutes, steps)
    bin_folder = Path(sys.executable).parent
    done = subprocess.run(
        command,
        shell=True,
        cwd=folder,
        env={**os.environ, "PATH": f"{bin_folder}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def test_the_tutorial_ends_with_a_player_that_beats_random_and_keeps_won_positions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))
    monkeypatch.syspath_prepend(tmp_path)
    names: dict[str, object] = {}
    kinds = []
    for block in BLOCK.finditer(TUTORIAL.read_text()):
        kinds.append(block["file"] or block["kind"])
        if block["file"]:
            (tmp_path / block["file"]).write_text(block["text"])
        elif block["kind"] == "sh":
            for command in block["text"].splitlines():
                run(command, tmp_path)
        else:
            exec(compile(block["text"], str(TUTORIAL), "exec"), names)
    assert kinds.count("sticks.py") == kinds.count("sticks.h") == 1
    assert len(kinds) == 9
    assert names["num_asked"] == 27
