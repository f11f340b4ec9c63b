"""The command line, run as its users do, in this process or in one of its own."""

import os
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from zerofleet.cli import main

ZEROFLEET = Path(sys.executable).parent / "zerofleet"
TRAIN_ONLY = ("torch", "onnx", "onnxscript", "matplotlib", "tensorboard")
"""What zerofleet[play] does not install."""


class Ran:
    """What a command line gave: exit status, output, error output."""

    def __init__(self, capsys: pytest.CaptureFixture[str], *arguments: str) -> None:
        with pytest.raises(SystemExit) as exited:
            main(list(arguments))
        self.status = exited.value.code
        self.output, self.errors = capsys.readouterr()


def example_of(capsys: pytest.CaptureFixture[str], *verb: str) -> list[str]:
    """The arguments of the one example in the help of a verb."""
    (example,) = (
        line.strip()
        for line in Ran(capsys, *verb, "--help").output.splitlines()
        if line.strip().startswith("Example: zerofleet ")
    )
    return shlex.split(example.removeprefix("Example: zerofleet "))


def ran_without(
    modules: Sequence[str], runs: Path, *arguments: str, first: str = "", typed: str = ""
) -> subprocess.CompletedProcess[str]:
    """A program, then a command line, in a process that cannot import these modules."""
    blocked = f"import sys\nfor name in {modules!r}: sys.modules[name] = None\n"
    then = f"from zerofleet.cli import main\nmain({list(arguments)!r})\n" if arguments else ""
    return subprocess.run(
        [sys.executable, "-c", f"{blocked}{first}\n{then}"],
        input=typed,
        capture_output=True,
        text=True,
        cwd=runs,
        env={**os.environ, "ZEROFLEET_RUNS": str(runs)},
        timeout=60,
    )
