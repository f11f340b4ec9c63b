"""Game records as files: the usual formats, and a text format for every game.

    sgf     Gomoku as SGF (FF[4], GM[4])
    mat     backgammon matches as Jellyfish and GNU Backgammon write them
    moves   Connect Four as columns, one game per line: 4453
    text    any game, as `zerofleet play` saves it; one game per file

    (record,) = zf.games.read_games("game.sgf")
    zf.games.write_games("game.txt", [record])

The extension selects the format: .sgf, .mat, .moves; any other is text. A file never selects code
to load: a custom game is read only if the caller names it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from zerofleet._core import Game
from zerofleet.errors import BadText, Unsupported, ZerofleetError
from zerofleet.games.formats import mat, moves, sgf, text
from zerofleet.games.record import GameRecord


@dataclass(frozen=True)
class Format:
    read: Callable[[str, Game | None], list[GameRecord]]
    """Reads the games in a text. A given game sets the variant and must match the text."""
    write: Callable[[Sequence[GameRecord]], str]
    encodings: tuple[str, ...]
    """Encodings of files, tried in this order."""


FORMATS = {
    # Neither declares its encoding reliably; the default of FF[4] is Latin-1.
    "sgf": Format(sgf.read, sgf.write, ("utf-8-sig", "latin-1")),
    "mat": Format(mat.read, mat.write, ("utf-8-sig", "latin-1")),
    "moves": Format(moves.read, moves.write, ("utf-8-sig",)),
    "text": Format(text.read, text.write, ("utf-8-sig",)),
}


def format_of(path: Path) -> str:
    """The format that a file's extension selects."""
    name = path.suffix.removeprefix(".").lower()
    return name if name in FORMATS else "text"


def known_format(name: str) -> Format:
    if name not in FORMATS:
        raise Unsupported(f"unknown format {name!r} of games; known: {', '.join(FORMATS)}")
    return FORMATS[name]


def read_games(
    path: str | Path, file_format: str | None = None, game: Game | None = None
) -> list[GameRecord]:
    """The games in a file. `game` sets the variant if the file does not, or a custom game."""
    path = Path(path)
    name = file_format or format_of(path)
    try:
        return games_from_text(decoded(path.read_bytes(), known_format(name)), name, game)
    except OSError as error:
        raise BadText(f"{path} cannot be read: {error.strerror}") from None
    except ZerofleetError as error:
        raise type(error)(f"{path}: {error}") from None


def decoded(data: bytes, file_format: Format) -> str:
    for encoding in file_format.encodings:
        try:
            return data.decode(encoding)
        except UnicodeDecodeError as error:
            fault = error
    raise BadText(f"it is not text: {fault}")


def games_from_text(text: str, file_format: str, game: Game | None = None) -> list[GameRecord]:
    """The games in a text of a format."""
    return known_format(file_format).read(text, game)


def games_to_text(records: Sequence[GameRecord], file_format: str) -> str:
    """Games as a text of a format."""
    return known_format(file_format).write(records)


def write_games(
    path: str | Path, records: Sequence[GameRecord], file_format: str | None = None
) -> None:
    """Writes games to a file."""
    path = Path(path)
    path.write_text(games_to_text(records, file_format or format_of(path)), encoding="utf-8")
