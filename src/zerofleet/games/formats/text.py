"""Any game as text, one game per file.

    game: connect4
    options:
    first: alice
    second: playout-1000
    start:
    moves: 4; 4; 5

The moves include dice and the start includes the deal, so the text reveals hidden information. A
game saved by `zerofleet play` has `seat` and `against` in place of the players' names. `result` is
the reward of the first player in a game that ended early.
"""

import math
from collections.abc import Sequence

from zerofleet._core import Game, Position
from zerofleet.errors import BadText, Inconsistent, ZerofleetError
from zerofleet.games.record import GameRecord, actions_of_turn
from zerofleet.games.registry import built_in_or_given

FIELDS = ("game", "options", "first", "second", "seat", "against", "start", "moves", "result")
NEEDED = ("game", "options", "start", "moves")
SEATS = ("first", "second")


def read_fields(text: str) -> dict[str, str]:
    """The lines of a saved game by title."""
    values: dict[str, str] = {}
    for line in text.splitlines():
        title, colon, value = line.partition(":")
        if not colon or title not in FIELDS:
            raise BadText(f"a saved game has lines {', '.join(FIELDS)}; got {line[:100]!r}")
        if title in values:
            raise BadText(f"a saved game has one line {title}, got two")
        values[title] = value.strip()
    for title in NEEDED:
        if title not in values:
            raise BadText(f"the line {title} of the saved game is missing")
    return values


def read(text: str, game: Game | None = None) -> list[GameRecord]:
    values = read_fields(text)
    played = built_in_or_given(values["game"], options_of(values["options"]), game)
    start = played.from_text(values["start"])
    return [
        GameRecord(
            start, actions_of(start, values["moves"]), players_of(values), awarded_of(values)
        )
    ]


def options_of(text: str) -> dict[str, str]:
    """Options written as size=9 rule=exact."""
    options: dict[str, str] = {}
    for option in text.split():
        name, _, value = option.partition("=")
        if name in options:
            raise BadText(f"the option {name} is given twice")
        options[name] = value
    return options


def actions_of(start: Position, moves: str) -> tuple[int, ...]:
    position = start.copy()
    actions: list[int] = []
    for number, move in enumerate(filter(None, moves.split("; ")), start=1):
        try:
            played = actions_of_move(position, move)
        except ZerofleetError as error:
            raise type(error)(f"move {number}: {error}") from None
        for action in played:
            position.play(action)
        actions += played
    return tuple(actions)


def actions_of_move(position: Position, text: str) -> tuple[int, ...]:
    """One action as `write` writes it, else a whole turn: `2/off` can be either."""
    try:
        return (position.action_from_text(text),)
    except ZerofleetError:
        return actions_of_turn(position, text)


def players_of(values: dict[str, str]) -> tuple[str, str]:
    if "seat" not in values:
        return values.get("first", ""), values.get("second", "")
    if values["seat"] not in SEATS:
        raise BadText(f"seat must be first or second, got {values['seat']}")
    opponent = values.get("against", "")
    return ("you", opponent) if values["seat"] == "first" else (opponent, "you")


def awarded_of(values: dict[str, str]) -> float | None:
    if not values.get("result"):
        return None
    try:
        result = float(values["result"])
    except ValueError:
        result = math.nan
    if not math.isfinite(result):
        raise BadText(f"result must be a number, got {values['result']}")
    return result


def write(records: Sequence[GameRecord]) -> str:
    if len(records) != 1:
        raise Inconsistent(f"a text holds one game, not {len(records)}; write them one by one")
    (record,) = records
    texts = [
        position.action_text(action)
        for position, action in zip(record.positions(), record.actions, strict=False)
    ]
    values = {
        "game": record.game.name,
        "options": " ".join(f"{name}={value}" for name, value in record.game.options.items()),
        "first": " ".join(record.players[0].split()),
        "second": " ".join(record.players[1].split()),
        "start": record.start.to_text(),
        "moves": "; ".join(texts),
    }
    if record.awarded_first_player is not None:
        values["result"] = f"{record.awarded_first_player:+g}"
    return "".join(f"{title}: {value}".rstrip() + "\n" for title, value in values.items())
