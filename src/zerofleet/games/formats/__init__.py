"""Game records as files: the field's formats, and zerofleet's own for every game.

    sgf     Gomoku as SGF (FF[4], GM[4])
    mat     backgammon matches as Jellyfish and GNU Backgammon write them
    moves   Connect Four as columns, one game a line: 4453
    text    any game, as `zerofleet play` saves it; one game a file

    (record,) = zf.games.read_games("game.sgf")
    zf.games.write_games("game.txt", [record])

The end of a file's name says which: .sgf, .mat, .moves; any other is text. Text that came from
elsewhere never chooses code to load: a custom game is read only where the caller names it.
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
    """The games in a text. A game that is given says the variant, and must be the text's."""
    write: Callable[[Sequence[GameRecord]], str]
    encodings: tuple[str, ...]
    """Of files, in the order in which they are tried."""


FORMATS = {
    # Neither says reliably how names are encoded; FF[4] falls back on Latin-1.
    "sgf": Format(sgf.read, sgf.write, ("utf-8-sig", "latin-1")),
    "mat": Format(mat.read, mat.write, ("utf-8-sig", "latin-1")),
    "moves": Format(moves.read, moves.write, ("utf-8-sig",)),
    "text": Format(text.read, text.write, ("utf-8-sig",)),
}


def format_of(path: Path) -> str:
    """The name of the format that a file's name tells."""
    name = path.suffix.removeprefix(".").lower()
    return name if name in FORMATS else "text"


def known_format(name: str) -> Format:
    if name not in FORMATS:
        raise Unsupported(f"unknown format {name!r} of games; known: {', '.join(FORMATS)}")
    return FORMATS[name]


def read_games(
    path: str | Path, file_format: str | None = None, game: Game | None = None
) -> list[GameRecord]:
    """The games in a file. `game` says the variant where the file does not, or a custom game."""
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
    raise BadText(f"it is no text: {fault}")


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
