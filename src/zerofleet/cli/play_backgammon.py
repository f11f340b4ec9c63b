"""Backgammon on the terminal: rolls, and the moves of each checker."""

import re
from collections.abc import Sequence
from typing import Any

from zerofleet._core import CHANCE
from zerofleet.games import Position

NAME = "backgammon"
NUM_POINTS = 24


def roll_text(before: Position, rolled: str, after: Position, person: int, opponent: str) -> str:
    """Whose roll it was, and whether it can be played."""
    dice = "-".join(rolled)
    if described(before).get("opening"):
        begins = "you begin" if after.to_move == person else f"{opponent} begins"
        return f"opening roll {dice}: {begins}"
    is_own = described(before)["player"] == person
    cannot = ": no move is possible" if after.to_move == CHANCE else ""
    return f"{'you roll' if is_own else f'{opponent} rolls'} {dice}{cannot}"


def checker_lines(positions: Sequence[Position], actions: Sequence[int]) -> list[str]:
    """The opponent's checker moves, with points numbered from the person's side. Positions are
    those before each action, then the one after the last."""
    lines = []
    for before, action, after in zip(positions, actions, positions[1:], strict=False):
        text = before.action_text(action)
        start, end = (place_text(part) for part in text.split("/"))
        hit = ", hits you" if on_bar(after, before.to_move) > on_bar(before, before.to_move) else ""
        lines.append(f"{text}: from {start} to {end}{hit}")
    return lines


def described(position: Position) -> dict[str, Any]:
    return position.describe()


def on_bar(position: Position, mover: int) -> int:
    """Checkers of the mover's opponent on the bar."""
    return int(described(position)["bar"][1 - mover])


def place_text(place: str) -> str:
    """An opponent's point, numbered from the person's side."""
    if not place.isdigit():
        return {"bar": "the bar", "off": "off the board"}[place]
    return f"your point {NUM_POINTS + 1 - int(place)}"


def marked(picture: str, before: Position, after: Position, mover: int) -> str:
    """The board with > at the points that the last turn moved to."""
    sign = 1 if mover == 0 else -1
    points = zip(described(before)["points"], described(after)["points"], strict=True)
    arrived = {
        point if described(after)["player"] == 0 else NUM_POINTS + 1 - point
        for point, (old, new) in enumerate(points, start=1)
        if max(sign * new, 0) > max(sign * old, 0)
    }

    def with_mark(number: re.Match[str]) -> str:
        return f"{'>' if int(number[1]) in arrived else '-'}{number[1]}"

    lines = picture.splitlines()
    for row, line in enumerate(lines):
        if line.startswith(" +-"):
            lines[row] = re.sub(r"-(\d+)", with_mark, line)
    return "\n".join(lines)
