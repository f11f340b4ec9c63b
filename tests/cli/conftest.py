"""A real run that was trained on a terminal, for tests of its output."""

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from command_line import ZEROFLEET
from tiny_runs import TINY_RUN

COLUMNS = 80
RATED = ["rating.final_games=20", "rating.simulations=4"]


@dataclass(frozen=True)
class Trained:
    """A run of tic-tac-toe, where it is, and all that the terminal got while it was trained."""

    name: str
    runs: Path
    screen: str


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    runs = tmp_path_factory.mktemp("runs")
    settings = [word for setting in [*TINY_RUN, *RATED] for word in ("--set", setting)]
    command = [str(ZEROFLEET), "train", "tictactoe", "--run", "ttt", "--games", "150", *settings]
    return Trained("ttt", runs, run_on_terminal(command, ZEROFLEET_RUNS=str(runs)))


@pytest.fixture(scope="session")
def on_terminal() -> Callable[..., str]:
    return run_on_terminal


def run_on_terminal(command: list[str], typed: str = "", **environment: str) -> str:
    """What a command writes to a terminal of 80 columns until it ends well."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    os.write(ours, typed.encode())
    with subprocess.Popen(
        command,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), **environment},
    ) as process:
        os.close(theirs)
        written = b""
        while chunk := read_some(ours):
            written += chunk
    os.close(ours)
    assert process.returncode == 0, written.decode()
    return written.decode()


def read_some(terminal: int) -> bytes:
    try:
        return os.read(terminal, 65536)
    except OSError:  # Linux says so where the other side has closed
        return b""
