"""The command line, run as its users do, in this process or in one of its own."""

import shlex
import sys
from pathlib import Path

import pytest

from zerofleet.cli import main

ZEROFLEET = Path(sys.executable).parent / "zerofleet"


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
