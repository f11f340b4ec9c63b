"""The game in progress of `zerofleet play`, and its text form, which can be resumed.

    game: connect4
    options:
    seat: first
    against: playout-1000
    start:
    moves: 4; 4; 5

The text holds the whole game, dice and deal included, so it reveals hidden cards. Games can also be
read from other formats; see zerofleet.games.formats.
"""

from dataclasses import dataclass, field
from pathlib import Path

from zerofleet.cli.arguments import game_of
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.games import Game, GameRecord, Position, read_games
from zerofleet.games.formats import format_of
from zerofleet.games.formats.text import SEATS, actions_of, read_fields
from zerofleet.games.record import actions_of_turn
from zerofleet.program import program_name
from zerofleet.runs.game import programs_among

FIELDS = ("game", "options", "seat", "against", "start", "moves")


@dataclass
class OngoingGame:
    """A game in progress. Positions are those before each move, then the current one."""

    name: str
    """The game as the person named it."""
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
        """Plays an action or a roll, and returns its text."""
        text = self.position.action_text(action)
        following = self.position.copy()
        following.play(action)
        self.positions.append(following)
        self.actions.append(action)
        self.moves.append(text)
        return text

    def play_text(self, text: str) -> None:
        """Plays a turn in its usual notation; an illegal one changes nothing."""
        for action in actions_of_turn(self.position, text):
            self.play(action)

    def truncate(self, num_moves: int) -> None:
        """Returns to the position after the first `num_moves` moves."""
        del self.positions[num_moves + 1 :]
        del self.actions[num_moves:]
        del self.moves[num_moves:]

    def as_record(self) -> GameRecord:
        """For zf.games.write_games."""
        players = ("you", self.against) if self.person == 0 else (self.against, "you")
        return GameRecord(self.positions[0], tuple(self.actions), players)

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


def read_record(path: Path, name: str, against: str | None = None) -> OngoingGame:
    """The game in a file, which must be of the game `name`, with the file's opponent unless
    `against` is given. A file can neither load code nor start a program. Errors name the file. If
    the file names no seat, the person takes the player to move; if it names no opponent, the
    opponent is empty."""
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
            f"{path} has {len(others) + 1} games; extract one of them: "
            f"{program_name()} convert {path} one.txt --only 1"
        )
    if played.game.name != wanted.name:
        raise BadText(f"{path}: it is a game of {played.game.name}, not of {name}")
    return record_of(name, played, None, against or "")


def record_from_text(text: str, name: str, against: str | None = None) -> OngoingGame:
    values = read_fields(text)
    if values["game"] != name:
        raise BadText(f"it is a game of {values['game']}, not of {name}")
    opponent = against or values.get("against", "")
    if against is None and programs_among([opponent]):
        raise BadText(f"its opponent is a program; to start it, add --against {opponent}")
    seat = values.get("seat")
    if seat not in (None, *SEATS):
        raise BadText(f"seat must be first or second, got {seat}")
    start = game_of(name, values["options"].split()).from_text(values["start"])
    played = GameRecord(start, actions_of(start, values["moves"]))
    return record_of(name, played, seat, opponent)


def record_of(name: str, played: GameRecord, seat: str | None, against: str) -> OngoingGame:
    record = OngoingGame(name, played.game, 0, against, [played.start])
    for action in played.actions:
        record.play(action)
    if seat:
        record.person = SEATS.index(seat)
    elif record.position.to_move in (0, 1):
        record.person = record.position.to_move
    return record
