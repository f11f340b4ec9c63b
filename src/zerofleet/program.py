"""The command line as it was invoked, so that a hint can be typed as it stands."""

import shutil
import sys
from pathlib import Path

NAME = "zerofleet"


def program_name() -> str:
    """zerofleet where a shell finds it by that name; else .venv/bin/zerofleet, or python -m
    zerofleet."""
    invoked = Path(sys.argv[0])
    if invoked.name == "__main__.py" and invoked.parent.name == NAME:
        return f"{as_typed(Path(sys.executable))} -m {NAME}"
    return as_typed(invoked) if invoked.name == NAME else NAME


def as_typed(program: Path) -> str:
    """The name alone where a shell finds that file by it, else its path, relative if it can be."""
    if (found := shutil.which(program.name)) and Path(found).absolute() == program.absolute():
        return program.name
    absolute, here = program.absolute(), Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)
