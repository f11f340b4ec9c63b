"""Connect Four games as columns, one game per line: 4453. Lines that start with # are comments.

The columns hold everything but the players' names.
"""

from collections.abc import Sequence

from zerofleet._core import Game
from zerofleet.errors import BadText, Unsupported, ZerofleetError
from zerofleet.games.record import GameRecord
from zerofleet.games.registry import get


def read(text: str, game: Game | None = None) -> list[GameRecord]:
    game = checked(game or get("connect4"))
    records = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.startswith("#") or not line.strip():
            continue
        position, actions = game.new_position(), []
        for column in line.strip():
            try:
                actions.append(position.action_from_text(column))
            except ZerofleetError as error:
                raise type(error)(f"line {number}, move {len(actions) + 1}: {error}") from None
            position.play(actions[-1])
        records.append(GameRecord(game.new_position(), tuple(actions)))
    if not records:
        raise BadText("it contains no game; a game is a line of columns, such as 4453")
    return records


def write(records: Sequence[GameRecord]) -> str:
    return "".join(line_of(record) + "\n" for record in records)


def line_of(record: GameRecord) -> str:
    checked(record.game)
    return record.positions()[-1].to_text()  # includes moves before the start


def checked(game: Game) -> Game:
    if game.name != "connect4":
        raise Unsupported(f"a list of columns is a game of connect4, not of {game.name}")
    return game
