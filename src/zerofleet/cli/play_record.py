"""A game under way: from its start to where it is, and as a text that can be played again.

    game: connect4
    options:
    seat: first
    against: playout-1000
    start:
    moves: 4; 4; 5

The text has all that happened, dice and deal included, so it shows what was hidden.
"""

from dataclasses import dataclass, field
from pathlib import Path

from zerofleet._core import CHANCE
from zerofleet.cli.arguments import game_of
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.games import Game, Position
from zerofleet.run_games import programs_among

FIELDS = ("game", "options", "seat", "against", "start", "moves")
SEATS = ("first", "second")


@dataclass
class GameRecord:
    """Positions are those before each move, then the one to move in now."""

    name: str
    """What the person calls the game."""
    game: Game
    person: int
    against: str
    positions: list[Position]
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
        self.moves.append(text)
        return text

    def play_text(self, text: str) -> None:
        """Plays a turn as people write it; one that is refused changes nothing."""
        following = self.position.copy()
        self.game.play_from_text(following, text)
        self.positions.append(following)
        self.moves.append(text)

    def cut(self, num_moves: int) -> None:
        """Goes back to where so many moves were played."""
        del self.positions[num_moves + 1 :]
        del self.moves[num_moves:]

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
    """The game that `text` wrote, which must be of this name, and with another opponent where one
    is named: a file chooses neither whose code is loaded nor which program is started. What is
    wrong with it is said with its name."""
    try:
        return record_from_text(path.read_text(encoding="utf-8"), name, against)
    except (OSError, UnicodeDecodeError) as error:
        raise BadText(f"{path} cannot be read: {error}") from None
    except ZerofleetError as error:
        raise BadText(f"{path}: {error}") from None


def record_from_text(text: str, name: str, against: str | None = None) -> GameRecord:
    values = {}
    for line in text.splitlines():
        title, colon, value = line.partition(":")
        if not colon or title not in FIELDS:
            raise BadText(f"a saved game has lines {', '.join(FIELDS)}; got {line!r}")
        values[title] = value.strip()
    for title in FIELDS:
        if title not in values:
            raise BadText(f"a saved game has a line {title}, which is missing")
    if values["game"] != name:
        raise BadText(f"it is a game of {values['game']}, not of {name}")
    if values["seat"] not in SEATS:
        raise BadText(f"seat must be first or second, got {values['seat']}")
    opponent = against or values["against"]
    if against is None and programs_among([opponent]):
        raise BadText(f"its opponent is a program; to start it, say --against {opponent}")
    game = game_of(name, values["options"].split())
    start = game.from_text(values["start"])
    person = SEATS.index(values["seat"])
    record = GameRecord(name, game, person, opponent, [start])
    for move in filter(None, values["moves"].split("; ")):
        if record.position.to_move == CHANCE:
            record.play(record.position.action_from_text(move))
        else:
            record.play_text(move)
    return record
