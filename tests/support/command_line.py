"""The command line, run as its users do, in this process or in a separate one."""

import os
import runpy
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
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


def ran_in(
    folder: Path, *arguments: str, typed: str = "", **environment: str
) -> subprocess.CompletedProcess[str]:
    """A command line in a folder, with this typed; in this process, which saves the imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setattr(sys, "stdin", StringIO(typed))
        return ran_here(lambda: main(list(arguments)), patch, environment)


def ran_script(
    script: Path, *arguments: object, **environment: str
) -> subprocess.CompletedProcess[str]:
    """A script with its arguments, in this process, which saves the imports."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(script.parent))
        patch.setattr(sys, "argv", [str(script), *map(str, arguments)])
        return ran_here(
            lambda: runpy.run_path(str(script), run_name="__main__"), patch, environment
        )


def ran_here(
    program: Callable[[], object], patch: pytest.MonkeyPatch, environment: Mapping[str, str]
) -> subprocess.CompletedProcess[str]:
    """What a program would have given as a process."""
    for name, value in environment.items():
        patch.setenv(name, value)
    status: object = 0
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors:
        try:
            program()
        except SystemExit as exited:
            status = exited.code or 0
            if isinstance(status, str):
                print(status, file=sys.stderr)
                status = 1
    assert isinstance(status, int)
    return subprocess.CompletedProcess([], status, output.getvalue(), errors.getvalue())


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
