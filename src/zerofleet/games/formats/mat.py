"""Backgammon matches as Jellyfish and GNU Backgammon write them (MAT).

     0 point match

     Game 1
     alice : 0                      bob : 0
      1) 41: 13/9 24/23              65: 24/18 18/13
      2) 63: 25/22* 13/7             53:
         Wins 1 point

Two columns, player 0 left; 25 is the bar and 0 off the board, a star is a hit, and a roll without
moves cannot be played. Play is cubeless: taken doubles are omitted with a note, and a dropped or
resigned game is awarded as its last line states. Match scores are written from the games and not
read.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from zerofleet._core import CHANCE, OVER, Game, Position
from zerofleet.errors import BadText, Inconsistent, Unsupported, ZerofleetError
from zerofleet.games.record import GameRecord, actions_of_turn
from zerofleet.games.registry import get

LEFT_WIDTH = 27
"""Width of the left column, after the turn number."""

LEAST_RIGHT_COLUMN = 15
"""From this column on a wide gap ends the left column, as in GNU Backgammon."""

MAX_NAME = 31
"""Characters of a name that GNU Backgammon keeps."""

VARIANTS = {"15": "Backgammon", **{str(n): f"HyperGammon ({n})" for n in (1, 2, 3)}}
"""By the option `checkers`."""

ROLL = re.compile(r"[1-6][1-6]:")
CUBE = re.compile(r"(doubles?|takes?|drops?|beavers?|raccoons?)\b", re.IGNORECASE)
WINS = re.compile(r"wins? ([1-9]\d{0,8}) points?\b", re.IGNORECASE)


# ---- reading


@dataclass
class Section:
    """The lines of one game, with their numbers in the file."""

    number: int
    lines: list[tuple[int, str]] = field(default_factory=list)


def read(text: str, game: Game | None = None) -> list[GameRecord]:
    head, sections = split(text)
    variant = game_of(head, game)
    if not sections:
        raise BadText("it is not MAT: it has no line 'Game 1'")
    return [record_of(section, variant) for section in sections]


def split(text: str) -> tuple[list[str], list[Section]]:
    head: list[str] = []
    sections: list[Section] = []
    for number, line in enumerate(text.splitlines(), start=1):
        line = line.expandtabs().rstrip()
        if beginning := re.fullmatch(r"\s*Game (\d{1,9})", line):
            sections.append(Section(int(beginning[1])))
        elif not sections:
            head.append(line)
        elif line.strip():
            sections[-1].lines.append((number, line))
    return head, sections


def game_of(head: list[str], given: Game | None) -> Game:
    found = next(filter(None, (re.search(r'\[Variation "(.*)"\]', line) for line in head)), None)
    variant = found[1] if found else VARIANTS["15"]
    if variant not in VARIANTS.values():
        raise Unsupported(f"variation {variant!r}; known: {', '.join(VARIANTS.values())}")
    (checkers,) = (checkers for checkers, name in VARIANTS.items() if name == variant)
    game = get("backgammon", checkers=checkers)
    if given is not None and game != given:
        raise Inconsistent(f"it is a game of {game!r}, not of {given!r}")
    return game


def record_of(section: Section, game: Game) -> GameRecord:
    if not section.lines:
        raise BadText(f"game {section.number} is empty; a line of names and scores comes first")
    (number, line), *rest = section.lines
    names = re.fullmatch(r"\s*(.+?) *: *\d+\s+(.+?) *: *\d+", line)
    if names is None:
        raise BadText(f"line {number}: names and scores are written 'a : 0   b : 0', not {line!r}")
    reading = Reading(section.number, game.new_position())
    for number, line in rest:
        if line.lstrip().startswith(";"):
            if "Set Pos" in line:
                raise Unsupported(
                    f"line {number}: games must start from the beginning, got {line!r}"
                )
            continue
        try:
            for player, cell in cells(line):
                reading.take(player, cell)
        except ZerofleetError as error:
            raise type(error)(f"line {number}: {error}") from None
    return GameRecord(
        game.new_position(),
        tuple(reading.actions),
        (names[1], names[2]),
        reading.awarded,
        tuple(reading.notes()),
    )


def cells(line: str) -> Iterator[tuple[int, str]]:
    """The cells of the left and the right player; empty ones are skipped."""
    numbered = re.match(r"\s*\d+\)", line)
    body = " " * numbered.end() + line[numbered.end() :] if numbered else line
    rolls = [found.start() for found in ROLL.finditer(body)]
    if len(rolls) > 2:
        raise BadText(f"a line has at most two rolls, not {len(rolls)}")
    gap = body.find("  ", LEAST_RIGHT_COLUMN)
    at = rolls[1] if len(rolls) == 2 else gap if gap >= 0 else len(body)
    for player, cell in enumerate((body[:at].strip(), body[at:].strip())):
        if cell:
            yield player, cell


@dataclass
class Reading:
    """The state while a game is read."""

    number: int
    position: Position
    actions: list[int] = field(default_factory=list)
    awarded: float | None = None
    num_cube_actions: int = 0

    def take(self, player: int, cell: str) -> None:
        if self.awarded is not None:
            raise BadText(f"{cell!r} follows the end of game {self.number}")
        if ROLL.match(cell):
            self.roll(player, cell[:2])
            self.move(cell[3:].strip())
        elif CUBE.match(cell):
            self.num_cube_actions += 1
        elif won := WINS.match(cell):
            self.end(player, int(won[1]))
        else:
            raise BadText(
                f"{cell!r} is neither a roll (31: 8/5 6/5) nor Doubles, Takes, Drops or Wins"
            )

    def roll(self, player: int, dice: str) -> None:
        if self.position.to_move != CHANCE:
            raise Inconsistent(f"{dice}: the game is over, or its last turn was not played")
        if not self.actions:
            # The first mover threw the higher die; our outcome lists player 0's die first.
            dice = "".join(sorted(dice, reverse=player == 0))
        elif described(self.position)["player"] != player:
            side = ("right", "left")[player]
            raise Inconsistent(f"{dice}: it is the turn of the player in the {side} column")
        self.play(self.position.action_from_text(dice))

    def move(self, text: str) -> None:
        """Plays a whole turn; dice that cannot be played are not written."""
        if self.position.to_move in (CHANCE, OVER):
            if text and text.lower() != "cannot move":
                raise Inconsistent(f"{text!r}: no checker can move here")
            return
        turn = " ".join(
            re.sub("^25/", "bar/", re.sub(r"/0\b", "/off", word.lower())) for word in text.split()
        )
        if not turn or set(turn) == {"?"}:
            return  # resigned after the roll: only the line with the winner can follow
        for action in actions_of_turn(self.position, turn):
            self.play(action)

    def end(self, player: int, num_points: int) -> None:
        if self.position.to_move != OVER:
            self.awarded = float(num_points if player == 0 else -num_points)
            return
        if self.position.rewards()[player] < 0:
            raise Inconsistent("the winner is not the player who has borne off")

    def play(self, action: int) -> None:
        self.position.play(action)
        self.actions.append(action)

    def notes(self) -> Iterator[str]:
        if self.num_cube_actions:
            yield (
                f"game {self.number}: {self.num_cube_actions} cube actions left out; "
                "play here is cubeless"
            )


# ---- writing


def write(records: Sequence[GameRecord]) -> str:
    """All games as one money session: a match of 0 points, with a running score."""
    variants = {str(record.game) for record in records}
    if len(variants) > 1:
        raise Inconsistent(f"a match is of one game, not of {', '.join(sorted(variants))}")
    score = [0, 0]
    lines = []
    for number, record in enumerate(records, start=1):
        if number == 1 and (variant := VARIANTS[checked(record.game)]) != VARIANTS["15"]:
            lines.append(f'; [Variation "{variant}"]\n')
        if number == 1:
            lines.append(" 0 point match")
        names = [name_of(name, player) for player, name in enumerate(record.players)]
        left = f" {names[0]} : {score[0]}"
        lines += ["", f" Game {number}", f"{left:<{LEFT_WIDTH + 4}} {names[1]} : {score[1]}"]
        lines += turn_lines(record)
        reward = record.reward_first_player
        if reward:
            if not reward.is_integer():
                raise Inconsistent(f"MAT has whole points, so no result of {reward:g}")
            winner, points = (0, int(reward)) if reward > 0 else (1, -int(reward))
            score[winner] += points
            plural = "" if points == 1 else "s"
            lines.append(" " * (6 if winner == 0 else 34) + f"Wins {points} point{plural}")
    return "\n".join(lines) + "\n"


def checked(game: Game) -> str:
    """The number of checkers of each player, as text."""
    if game.name != "backgammon":
        raise Unsupported(f"MAT is for backgammon, not for {game.name}")
    return game.options["checkers"]


def name_of(name: str, player: int) -> str:
    """A name without colons."""
    return " ".join(name.replace(":", " ").split())[:MAX_NAME] or f"player {player + 1}"


def turn_lines(record: GameRecord) -> Iterator[str]:
    turns = list(turns_of(record))
    if turns and turns[0][0] == 1:
        turns.insert(0, (0, ""))
    for number, at in enumerate(range(0, len(turns), 2), start=1):
        left, *right = (text for _, text in turns[at : at + 2])
        yield f"{number:3}) {left:<{LEFT_WIDTH}}{' '.join(['', *right])}".rstrip()


def turns_of(record: GameRecord) -> Iterator[tuple[int, str]]:
    """Each turn with its player."""
    checked(record.game)
    if record.start != record.game.new_position():
        raise Inconsistent(f"a game of MAT begins with the opening roll, not at {record.start!r}")
    player, text = 0, ""
    positions = record.positions()
    for before, after, action in zip(positions, positions[1:], record.actions, strict=False):
        if before.to_move != CHANCE:
            text += f" {move_text(before, after, action)}"
            continue
        if text:
            yield player, text
        dice = before.action_text(action)
        is_opening = before == record.start
        player = int(dice[0] < dice[1]) if is_opening else described(before)["player"]
        text = "".join(sorted(dice, reverse=True)) + ":"
    if text:
        yield player, text


def move_text(before: Position, after: Position, action: int) -> str:
    """One checker's move: 25/22*."""
    other = 1 - before.to_move
    is_hit = described(after)["bar"][other] > described(before)["bar"][other]
    moved = before.action_text(action).replace("bar", "25").replace("off", "0")
    return moved + ("*" if is_hit else "")


def described(position: Position) -> dict[str, Any]:
    return position.describe()
