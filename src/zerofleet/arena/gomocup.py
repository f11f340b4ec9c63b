"""External Gomoku engines: programs that speak the Gomocup protocol over stdin and stdout.

Every position is sent whole, so an engine needs no memory of a game. An illegal, late or missing
answer is an error; no other move replaces it. `zerofleet gomocup` is the other direction.
"""

import queue
import subprocess
import threading
import time
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from zerofleet.arena.player import Player
from zerofleet.errors import EngineFailed, Unsupported
from zerofleet.games import Game, Position

RULES = {"freestyle": 0, "exact": 1}
"""Our rules by their number in INFO rule."""

PAUSE_S = 0.01
"""Before each command: some engines drop one that arrives within 1 ms of their reply."""

START_S = 30.0
"""Startup limit; an engine may load large files."""

GRACE_S = 10.0
"""Allowed delay beyond the time limit of a move, for a loaded machine."""

END_S = 2.0


class GomocupPlayer(Player):
    """A player that asks an engine, with `turn_s` seconds per move."""

    def __init__(self, path: str | Path, game: Game, turn_s: float = 1.0) -> None:
        if game.name != "gomoku" or game.options["line"] != "5":
            raise Unsupported(f"a Gomocup engine plays gomoku with line=5, not {game!r}")
        self.name = f"gomocup:{path}"
        self._game = game
        self._turn_s = turn_s
        self._is_empty = True
        self._engine = Engine(Path(path))
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        self._engine.send(f"START {self._game.options['size']}")
        self._engine.expect_ok(START_S)
        for fact in [
            f"timeout_turn {self._turn_s * 1000:.0f}",
            "timeout_match 0",
            "max_memory 0",
            "game_type 1",  # the opponent is a program
            f"rule {RULES[self._game.options['rule']]}",
        ]:
            self._engine.send(f"INFO {fact}")

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        return [self._choose(position) for position in positions]

    def _choose(self, position: Position) -> int:
        if position.game != self._game:
            raise Unsupported(f"{self.name} was started for {self._game!r}, not {position.game!r}")
        stones = board_lines(position)
        if stones:
            self._engine.send("\n".join(["BOARD", *stones, "DONE"]))
        else:
            if not self._is_empty:
                self._engine.send("RESTART")
                self._engine.expect_ok(START_S)
            self._engine.send("BEGIN")
        self._is_empty = False
        answer = self._engine.answer(self._turn_s + GRACE_S)
        action = cell_of(answer, int(self._game.options["size"]))
        if action not in position.legal_actions():
            raise EngineFailed(
                f"{self.name} answered '{answer}' in {position!r}; a legal answer is column,row of "
                "an empty cell, from the left and from the top, such as 0,2"
            )
        return action

    def close(self) -> None:
        self._engine.close()


def board_lines(position: Position) -> list[str]:
    """The stones in order, as `column,row,owner`: 1 is the player to move, 2 the opponent."""
    size = int(position.game.options["size"])
    lines = []
    for ply, text in enumerate(position.to_text().split()):
        row, column = divmod(cell_from_text(text, size), size)
        lines.append(f"{column},{row},{1 if ply % 2 == position.to_move else 2}")
    return lines


def cell_from_text(text: str, size: int) -> int:
    """The cell of a text such as `h8`, empty or not."""
    return (size - int(text[1:])) * size + ord(text[0]) - ord("a")


def cell_of(answer: str, size: int) -> int | None:
    """The cell of `column,row`; None if the text is not a cell of the board."""
    try:
        column, row = (int(number) for number in answer.split(","))
    except ValueError:
        return None
    return row * size + column if 0 <= column < size and 0 <= row < size else None


class Engine:
    """An engine process that exchanges lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._process = subprocess.Popen(
                [path.resolve()],
                cwd=path.resolve().parent,  # engines look for their files here
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                errors="replace",
                start_new_session=True,  # no Ctrl-C: it exits at end of input
            )
        except OSError as error:
            raise EngineFailed(
                f"{path} cannot be started ({error.strerror}); "
                "a Gomocup engine is an executable file"
            ) from None
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._last: deque[str] = deque(maxlen=3)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line.strip())
        self._lines.put(None)

    def send(self, text: str) -> None:
        """Sends lines. Unrequested output since the last command is an error: it would be taken
        for the next answer."""
        assert self._process.stdin is not None
        time.sleep(PAUSE_S)
        while not self._lines.empty():
            line = self._lines.get()
            if line is None:
                raise self._failed(f"exited before {text.split()[0]}")
            self._last.append(line)
            if not is_chatter(line):
                raise self._failed(f"printed '{line}' before it was sent {text.split()[0]}")
        try:
            self._process.stdin.write(text + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._failed(f"exited before {text.split()[0]}") from None

    def answer(self, timeout_s: float) -> str:
        """The engine's next answer."""
        give_up_at = time.monotonic() + timeout_s
        while True:
            try:
                line = self._lines.get(timeout=max(0.0, give_up_at - time.monotonic()))
            except queue.Empty:
                raise self._failed(f"gave no answer within {timeout_s:g} s") from None
            if line is None:
                raise self._failed("exited without an answer")
            self._last.append(line)
            if line.upper().startswith("ERROR"):
                raise self._failed("reported an error")
            if not is_chatter(line):
                return line

    def expect_ok(self, timeout_s: float) -> None:
        answer = self.answer(timeout_s)
        if not answer.upper().startswith("OK"):
            raise self._failed("did not answer OK")

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(EngineFailed):  # it may have exited
            self.send("END")
        with suppress(OSError):
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(END_S)
        self._process.kill()
        self._process.wait()
        self._reader.join()
        self._process.stdout.close()

    def _failed(self, what: str) -> EngineFailed:
        output = " | ".join(self._last)
        return EngineFailed(f"engine {self._path} {what}; its last output: {output!r}")


def is_chatter(line: str) -> bool:
    """Whether a line is a message for people, or rejects an unknown INFO."""
    return line.partition(" ")[0].upper() in ("", "MESSAGE", "DEBUG", "UNKNOWN")
