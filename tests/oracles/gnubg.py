"""Real GNU Backgammon (Debian's gnubg): the play it chooses, and all plays that it knows.

Plays come back as players write them, `8/5 6/5`. `all_plays` and `External` start processes of
their own and end them.
"""

import re
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROGRAM = shutil.which("gnubg") or "/usr/games/gnubg"  # Debian's is often not on the PATH
SETTINGS = [
    "set player 0 human",
    "set player 1 human",
    "set automatic roll off",
    "set automatic game off",
    "set jacoby off",
    "set threads 1",
    "set confirm new off",
]
TIMEOUT_S = 60.0


def is_installed() -> bool:
    return Path(PROGRAM).exists()


def command(script: Path) -> list[str]:
    return [PROGRAM, "-t", "-q", "-r", "-c", str(script)]


def plies_setting(plies: int) -> str:
    return f"set evaluation chequerplay evaluation plies {plies}"


def all_plays(ids_and_dice: Sequence[tuple[str, tuple[int, int]]]) -> list[list[str]]:
    """Every play that GnuBG knows in each position, given by its ID for the player on roll."""
    commands = [
        *SETTINGS,
        "set evaluation chequerplay evaluation plies 0",
        "new game",
        "set turn 1",
    ]
    for position_id, (die, other_die) in ids_and_dice:
        commands += [f"set board {position_id}", f"set dice {die} {other_die}", "hint 9999"]
    with tempfile.TemporaryDirectory() as home:
        script = Path(home) / "commands"
        script.write_text("\n".join(commands) + "\n")
        output = subprocess.run(
            command(script),
            env={"HOME": home},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    answers = output.split("The dice have been set to ")[1:]
    if len(answers) != len(ids_and_dice):
        raise RuntimeError(f"GnuBG answered {len(answers)} of {len(ids_and_dice)} questions")
    return [re.findall(r"^ *\d+\. Cubeful 0-ply +(\S.*?) +Eq\.:", text, re.M) for text in answers]


def fibs_board(described: Mapping[str, Any], dice: tuple[int, int]) -> str:
    """The position as FIBS writes it, for its player, who moves from 24 down to 1 as "1"."""
    player = described["player"]
    points = described["points"] if player == 0 else [-n for n in reversed(described["points"])]
    (bar, others_bar), (off, others_off) = (
        (pair[player], pair[1 - player]) for pair in (described["bar"], described["off"])
    )
    fields = ["board:player:other", 0, 0, 0]  # a match of length 0 is money play
    fields += [-others_bar, *points, bar]
    fields += [1, *dice, 0, 0, 1, 1, 1, 0]  # whose turn, dice, cube
    fields += [1, -1, 0, 25]  # colour, direction, home, bar
    fields += [off, others_off, bar, others_bar, 0, 0, 0, 0]
    return ":".join(map(str, fields))


class External:
    """GnuBG answering over its external socket; `with External(plies=0) as gnubg: ...`."""

    def __init__(self, plies: int) -> None:
        self._home = tempfile.TemporaryDirectory()
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        script = Path(self._home.name) / "commands"
        script.write_text(
            "\n".join([*SETTINGS, plies_setting(plies), f"external 127.0.0.1:{port}"]) + "\n"
        )
        self._process = subprocess.Popen(
            command(script),
            env={"HOME": self._home.name},
            stdin=subprocess.PIPE,  # kept open: GnuBG ends when it is closed
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("Waiting for a connection"):
                break
        self._connection = socket.create_connection(("127.0.0.1", port), timeout=TIMEOUT_S)
        self._stream = self._connection.makefile("rw")

    def choose(self, described: Mapping[str, Any], dice: tuple[int, int]) -> str:
        """The play that GnuBG chooses, checker by checker; empty where it cannot move."""
        self._stream.write(fibs_board(described, dice) + "\n")
        self._stream.flush()
        moves = self._stream.readline().split()
        return " ".join(re.sub("^25/", "bar/", re.sub("/0$", "/off", move)) for move in moves)

    def close(self) -> None:
        self._stream.close()
        self._connection.close()
        self._process.terminate()
        self._process.communicate(timeout=TIMEOUT_S)
        self._home.cleanup()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
