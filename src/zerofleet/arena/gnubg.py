"""GNU Backgammon as a player and as a judge, over its external-player socket.

Everything is cubeless money play without the Jacoby rule, like zerofleet's game. Queries are
stateless. A missing or illegal answer is an error; no other move replaces it.
"""

import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zerofleet._core import CHANCE
from zerofleet.arena.player import Player
from zerofleet.arena.turns import Turn, turns
from zerofleet.errors import EngineFailed, IllegalAction, Unsupported, ZerofleetError
from zerofleet.games import Position

SETTINGS = [
    "set player 0 human",
    "set player 1 human",
    "set automatic roll off",
    "set automatic game off",
    "set jacoby off",
    "set threads 1",
    "set confirm new off",
    "set evaluation chequerplay evaluation cubeful off",
]
DEBIAN_FOLDER = "/usr/games"
"""Where Debian puts it; often not on the PATH."""

MAX_PLIES = 3
TIMEOUT_S = 60.0
"""For startup and for each answer. A 2-ply answer takes about 0.1 s, a 3-ply one a few seconds."""

MAX_ADDRESS_BYTES = 107
"""Longest path of a Unix socket on Linux."""

MAX_REMEMBERED = 1 << 16
"""Mid-turn positions kept; far more than one batch of games has."""


def find_program() -> str | None:
    """The path of GnuBG; None where it is not installed."""
    return shutil.which("gnubg") or shutil.which("gnubg", path=DEBIAN_FOLDER)


def program() -> str:
    """The path of GnuBG; an error where it is not installed."""
    found = find_program()
    if found is None:
        raise EngineFailed(
            f"GnuBG is not installed: there is no gnubg on the PATH or in {DEBIAN_FOLDER}; "
            "install Debian's package gnubg (apt-get install gnubg)"
        )
    return found


def command(program: str, script: Path) -> list[str]:
    """The command that starts GnuBG without a GUI and runs a script."""
    return [program, "-t", "-q", "-r", "-c", str(script)]


def plies_setting(plies: int) -> str:
    return f"set evaluation chequerplay evaluation plies {plies}"


def fibs_board(described: dict[str, Any]) -> str:
    """The position as a FIBS board for its player, who is "1" and moves from 24 down to 1."""
    player = described["player"]
    points = described["points"] if player == 0 else [-n for n in reversed(described["points"])]
    (bar, others_bar), (off, others_off) = (
        (pair[player], pair[1 - player]) for pair in (described["bar"], described["off"])
    )
    dice = described["dice"][:2] or [0, 0]
    fields = ["board:player:other", 0, 0, 0]  # a match of length 0 is money play
    fields += [-others_bar, *points, bar]
    fields += [1, *dice, 0, 0, 1, 1, 1, 0]  # whose turn, dice, cube
    fields += [1, -1, 0, 25]  # colour, direction, home, bar
    fields += [off, others_off, bar, others_bar, 0, 0, 0, 0]
    return ":".join(map(str, fields))


@dataclass(frozen=True)
class Evaluation:
    """GnuBG's evaluation of a position, in the view of the player about to roll."""

    outcomes_on_roll: tuple[float, ...]
    """Probabilities in the order of the game's outcomes: backgammon, gammon and single game won,
    then single game, gammon and backgammon lost."""
    equity_on_roll: float
    """Expected points per game."""


class Gnubg:
    """A GnuBG process that evaluates at `plies` plies. Must be closed."""

    def __init__(self, plies: int) -> None:
        if not 0 <= plies <= MAX_PLIES:
            raise Unsupported(f"GnuBG evaluates at 0 to {MAX_PLIES} plies here, got {plies}")
        gnubg = program()
        self.plies = plies
        self._folder = tempfile.TemporaryDirectory(prefix="zerofleet-gnubg-")
        folder = Path(self._folder.name)
        script, self._output = folder / "commands", folder / "output"
        address = folder / "socket"
        if len(os.fsencode(address)) > MAX_ADDRESS_BYTES:
            self._folder.cleanup()
            raise EngineFailed(
                f"the path of GnuBG's socket may have {MAX_ADDRESS_BYTES} bytes, and "
                f"{address} has {len(os.fsencode(address))}; set TMPDIR to a shorter folder"
            )
        script.write_text("\n".join([*SETTINGS, plies_setting(plies), f"external {address}"]))
        with self._output.open("wb") as output:
            self._process = subprocess.Popen(
                command(gnubg, script),
                env={"HOME": self._folder.name},
                stdin=subprocess.PIPE,  # kept open: GnuBG exits at end of input
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # no Ctrl-C: it exits when its socket closes
            )
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(TIMEOUT_S)
        self._answers = self._socket.makefile()
        try:
            self._connect(str(address))
        except BaseException:
            self.close()
            raise

    def _connect(self, address: str) -> None:
        give_up_at = time.monotonic() + TIMEOUT_S
        while True:
            try:
                return self._socket.connect(address)
            except (FileNotFoundError, ConnectionRefusedError):
                if self._process.poll() is not None or time.monotonic() > give_up_at:
                    raise self._failed("did not open its external socket") from None
            time.sleep(0.01)

    def ask(self, question: str) -> str:
        """GnuBG's one-line answer to one line, such as a FIBS board."""
        try:
            self._socket.sendall(question.encode() + b"\n")
            answer = self._answers.readline()
        except TimeoutError:
            raise self._failed(f"gave no answer within {TIMEOUT_S:g} s to: {question}") from None
        except OSError as error:
            raise self._failed(f"closed its socket ({error}); query: {question}") from None
        if not answer.endswith("\n"):
            raise self._failed(f"exited without an answer to: {question}")
        if answer.startswith("Error"):
            raise self._failed(f"answered '{answer.strip()}' to: {question}")
        return answer.strip()

    def turn(self, position: Position) -> Turn:
        """GnuBG's choice at the start of a turn."""
        moves = self.ask(fibs_board(described(position))).split()
        play = " ".join(re.sub("^25/", "bar/", re.sub("/0$", "/off", move)) for move in moves)
        wanted = position.copy()
        try:
            wanted.game.play_from_text(wanted, play)
        except ZerofleetError as error:
            raise self._failed(f"played '{play}' in {position!r}: {error}") from None
        (turn,) = (turn for turn in turns(position) if turn.after == wanted)
        return turn

    def evaluate(self, position: Position) -> Evaluation:
        """Evaluates a position before a roll."""
        fields = described(position)
        if position.to_move != CHANCE or "opening" in fields:
            raise IllegalAction(f"GnuBG evaluates positions before a roll, not {position!r}")
        answer = self.ask(f"evaluation fibsboard {fibs_board(fields)} plies {self.plies} prune")
        try:
            win, gammon, backgammon, lose_gammon, lose_backgammon, equity = map(
                float, answer.split()
            )
        except ValueError:
            raise self._failed(
                f"evaluated {position!r} as '{answer}', expected six numbers"
            ) from None
        won = (backgammon, gammon - backgammon, win - gammon)
        lost = (1 - win - lose_gammon, lose_gammon - lose_backgammon, lose_backgammon)
        return Evaluation(won + lost, equity)

    def equity_after(self, turn: Turn, player: int) -> float:
        """The equity of a turn for the player who played it."""
        if turn.after.to_move == CHANCE:
            return -self.evaluate(turn.after).equity_on_roll
        return turn.after.rewards()[player]

    def close(self) -> None:
        self._answers.close()
        self._socket.close()
        self._process.kill()
        self._process.communicate()
        self._folder.cleanup()

    def _failed(self, what: str) -> EngineFailed:
        status = self._process.poll()
        state = "is running" if status is None else f"exited with status {status}"
        last = self._output.read_text(errors="replace").strip().splitlines()[-1:]
        return EngineFailed(f"GnuBG {what} (it {state}; its last output: {''.join(last)!r})")


def described(position: Position) -> dict[str, Any]:
    """Describes a backgammon position with 15 checkers, the only variant GnuBG accepts here."""
    game = position.game
    if game.name != "backgammon" or game.options["checkers"] != "15":
        raise Unsupported(f"GnuBG plays backgammon with checkers=15 here, not {game!r}")
    return position.describe()


class GnubgPlayer(Player):
    """Plays GnuBG's moves. GnuBG decides on whole turns.

    The player queries it at the start of a turn and remembers the rest of the move. In a mid-turn
    position that it did not reach itself it evaluates every end of the turn.
    """

    def __init__(self, plies: int) -> None:
        self.name = f"gnubg-{plies}"
        self._gnubg = Gnubg(plies)
        self._remembered: dict[str, int] = {}

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        return [self._choose(position) for position in positions]

    def _choose(self, position: Position) -> int:
        text = position.to_text()
        if text not in self._remembered:
            self._remember(position, self._turn(position))
        return self._remembered[text]

    def _turn(self, position: Position) -> Turn:
        fields = described(position)
        is_start_of_turn = "from" not in fields and len(fields["dice"]) in (2, 4)
        return self._gnubg.turn(position) if is_start_of_turn else self._best_end(position)

    def _best_end(self, position: Position) -> Turn:
        player = position.to_move
        return max(turns(position), key=lambda turn: self._gnubg.equity_after(turn, player))

    def _remember(self, position: Position, turn: Turn) -> None:
        at = position.copy()
        for action in turn.actions:
            self._remembered[at.to_text()] = action
            at.play(action)
        while len(self._remembered) > MAX_REMEMBERED:
            del self._remembered[next(iter(self._remembered))]

    def close(self) -> None:
        self._gnubg.close()
