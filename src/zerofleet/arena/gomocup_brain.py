"""Serves a player of the arena as a Gomocup brain, for Gomoku managers and tournaments.

Time limits of the protocol are ignored: a player's text sets its budget.
"""

from collections.abc import Callable, Iterable, Iterator
from importlib.metadata import version

from zerofleet._core import OVER
from zerofleet.arena.gomocup import RULES, cell_of
from zerofleet.arena.player import Player
from zerofleet.errors import ZerofleetError
from zerofleet.games import Game, Position, get

OWN, OTHERS = 1, 2


class Brain:
    """A game as the manager describes it, and the player that answers."""

    def __init__(self, make_player: Callable[[Game], Player]) -> None:
        self._make_player = make_player
        self._player: Player | None = None
        self._size = 0
        self._rule = "freestyle"
        self._stones: dict[int, int] = {}

    def answers(self, lines: Iterable[str]) -> Iterator[str]:
        """Yields the answers to the commands, until END or end of input."""
        rest = iter(lines)
        for line in rest:
            word, _, argument = line.strip().partition(" ")
            if word.upper() == "END":
                return
            try:
                yield from self._answer(word.upper(), argument.strip(), rest)
            except ZerofleetError as error:
                yield f"ERROR {error}"

    def _answer(self, word: str, argument: str, rest: Iterator[str]) -> Iterator[str]:
        if word == "ABOUT":
            yield f'name="zerofleet", version="{version("zerofleet")}"'
        elif word == "START":
            yield self._start(argument)
        elif word == "INFO":
            self._info(*argument.lower().split()[:2])
        elif word and self._size == 0:
            yield "ERROR no game yet; send START 15 first"
        elif word == "RESTART":
            self._stones.clear()
            yield "OK"
        elif word == "BEGIN":
            self._stones.clear()
            yield self._move()
        elif word == "TURN":
            yield self._move() if self._place(argument, OTHERS) else bad_cell(argument)
        elif word == "BOARD":
            yield self._board(rest)
        elif word:
            yield f"UNKNOWN {word}"

    def _start(self, argument: str) -> str:
        get("gomoku", size=argument)  # its error names the valid sizes
        self.close()
        self._size = int(argument)
        self._stones.clear()
        return "OK"

    def _info(self, key: str = "", value: str = "") -> None:
        named = {str(number): rule for rule, number in RULES.items()}
        if key == "rule" and named.get(value, self._rule) != self._rule:
            self.close()
            self._rule = named[value]

    def _board(self, rest: Iterator[str]) -> str:
        self._stones.clear()
        fault = ""
        for line in rest:
            if line.strip().upper() == "DONE":
                break
            cell, _, whose = line.strip().rpartition(",")
            if whose not in ("1", "2") or not self._place(cell, int(whose)):
                fault = fault or bad_cell(line.strip())
        return fault or self._move()

    def _place(self, text: str, whose: int) -> bool:
        cell = cell_of(text, self._size)
        if cell is None or cell in self._stones:
            return False
        self._stones[cell] = whose
        return True

    def _move(self) -> str:
        position = self._position()
        if position.to_move == OVER:
            return "ERROR the game is over"
        if self._player is None:
            self._player = self._make_player(position.game)
        cell = self._player.choose(position)
        self._stones[cell] = OWN
        row, column = divmod(cell, self._size)
        return f"{column},{row}"

    def _position(self) -> Position:
        num_own = list(self._stones.values()).count(OWN)
        we_are = 0 if num_own * 2 == len(self._stones) else 1
        letters = {OWN: "XO"[we_are], OTHERS: "OX"[we_are]}
        cells = [letters.get(self._stones.get(cell, 0), ".") for cell in range(self._size**2)]
        rows = ["".join(cells[at : at + self._size]) for at in range(0, len(cells), self._size)]
        game = get("gomoku", size=self._size, rule=self._rule)
        return game.from_describe({"board": rows, "player": we_are})

    def close(self) -> None:
        if self._player is not None:
            self._player.close()
            self._player = None


def bad_cell(text: str) -> str:
    return f"ERROR '{text}' is not an empty cell of the board"
