"""How the user invoked zerofleet, so that hints can be pasted into the shell."""

import shutil
import sys
from pathlib import Path

NAME = "zerofleet"


def program_name() -> str:
    """`zerofleet` if it is on the PATH, else .venv/bin/zerofleet or `python -m zerofleet`."""
    invoked = Path(sys.argv[0])
    if invoked.name == "__main__.py" and invoked.parent.name == NAME:
        return f"{as_typed(Path(sys.executable))} -m {NAME}"
    return as_typed(invoked) if invoked.name == NAME else NAME


def as_typed(program: Path) -> str:
    """The bare name if the PATH leads to this file, else its path, relative if possible."""
    if (found := shutil.which(program.name)) and Path(found).absolute() == program.absolute():
        return program.name
    absolute, here = program.absolute(), Path.cwd()
    return str(absolute.relative_to(here) if absolute.is_relative_to(here) else absolute)
