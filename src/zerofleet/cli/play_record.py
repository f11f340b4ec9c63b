"""A game in flight: from its start to where it is, and as a text that can be played again.

    game: connect4
    options:
    seat: first
    against: playout-1000
    start:
    moves: 4; 4; 5

The text has all that happened, dice and deal included, so it shows what was hidden. Files of other
formats hold games too; see zerofleet.games.formats.
"""

from dataclasses import dataclass, field
from pathlib import Path

from zerofleet.cli.arguments import game_of
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.games import Game, Position, read_games
from zerofleet.games import GameRecord as PlayedGame
from zerofleet.games.formats import format_of
from zerofleet.games.formats.text import SEATS, actions_of, read_fields
from zerofleet.games.record import actions_of_turn
from zerofleet.program import program_name
from zerofleet.runs.game import programs_among

FIELDS = ("game", "options", "seat", "against", "start", "moves")


@dataclass
class GameRecord:
    """Positions are those before each move, then the one to move in now."""

    name: str
    """What the person calls the game."""
    game: Game
    person: int
    against: str
    positions: list[Position]
    actions: list[int] = field(default_factory=list)
    """Chance outcomes too; `moves` has their texts."""
    moves: list[str] = field(default_factory=list)

    @property
    def position(self) -> Position:
        return self.positions[-1]

    def play(self, action: int) -> str:
        """Plays an action or a roll, and gives its text."""
        text = self.position.action_text(action)
        following = self.position.copy()
        following.play(action)
        self.positions.append(following)
        self.actions.append(action)
        self.moves.append(text)
        return text

    def play_text(self, text: str) -> None:
        """Plays a turn as people write it; one that is refused changes nothing."""
        for action in actions_of_turn(self.position, text):
            self.play(action)

    def cut(self, num_moves: int) -> None:
        """Goes back to where so many moves were played."""
        del self.positions[num_moves + 1 :]
        del self.actions[num_moves:]
        del self.moves[num_moves:]

    def as_played(self) -> PlayedGame:
        """For files of every format."""
        players = ("you", self.against) if self.person == 0 else (self.against, "you")
        return PlayedGame(self.positions[0], tuple(self.actions), players)

    def text(self) -> str:
        values = (
            self.name,
            " ".join(f"{name}={value}" for name, value in self.game.options.items()),
            SEATS[self.person],
            self.against,
            self.positions[0].to_text(),
            "; ".join(self.moves),
        )
        pairs = zip(FIELDS, values, strict=True)
        return "".join(f"{name}: {value}".rstrip() + "\n" for name, value in pairs)


def read_record(path: Path, name: str, against: str | None = None) -> GameRecord:
    """The game in a file, which must be of this name, and with another opponent where one is named:
    a file chooses neither whose code is loaded nor which program is started. What is wrong with it
    is said with its name. Without seat or opponent in the file the player to move is the person,
    and `against` is empty."""
    wanted = game_of(name, None)
    try:
        if format_of(path) == "text":
            return record_from_text(path.read_text(encoding="utf-8"), name, against)
        (played, *others) = read_games(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{path} cannot be read: {error}") from None
    except ZerofleetError as error:
        raise BadText(f"{path}: {str(error).removeprefix(f'{path}: ')}") from None
    if others:
        raise BadText(
            f"{path} has {len(others) + 1} games; take one of them out: "
            f"{program_name()} convert {path} one.txt --only 1"
        )
    if played.game.name != wanted.name:
        raise BadText(f"{path}: it is a game of {played.game.name}, not of {name}")
    return record_of(name, played, None, against or "")


def record_from_text(text: str, name: str, against: str | None = None) -> GameRecord:
    values = read_fields(text)
    if values["game"] != name:
        raise BadText(f"it is a game of {values['game']}, not of {name}")
    opponent = against or values.get("against", "")
    if against is None and programs_among([opponent]):
        raise BadText(f"its opponent is a program; to start it, say --against {opponent}")
    seat = values.get("seat")
    if seat not in (None, *SEATS):
        raise BadText(f"seat must be first or second, got {seat}")
    start = game_of(name, values["options"].split()).from_text(values["start"])
    played = PlayedGame(start, actions_of(start, values["moves"]))
    return record_of(name, played, seat, opponent)


def record_of(name: str, played: PlayedGame, seat: str | None, against: str) -> GameRecord:
    record = GameRecord(name, played.game, 0, against, [played.start])
    for action in played.actions:
        record.play(action)
    if seat:
        record.person = SEATS.index(seat)
    elif record.position.to_move in (0, 1):
        record.person = record.position.to_move
    return record
