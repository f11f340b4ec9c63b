"""Games by name: those that come with zerofleet, and custom ones by where they are written."""

from zerofleet import _core
from zerofleet._core import Game, OptionSpec
from zerofleet.errors import BadText
from zerofleet.games.sources import from_source, is_source


def names() -> list[str]:
    """The names of all games that come with zerofleet."""
    return _core.game_names()


def option_specs(name: str) -> list[OptionSpec]:
    """The options of such a game, with their defaults and what each may be."""
    return _core.option_specs(name)


def get(name: str, /, **options: int | str) -> Game:
    """A game with these options; those not given have their defaults.

    `name` is one of `names()`, or says where a custom game is: "sticks.py:Sticks",
    "package.module:Sticks" or "sticks.h"; see zerofleet.games.sources. An unknown name or option is
    an error that names the known ones, nearest first. A name may stand for another game with fixed
    options: get("tictactoe") is get("gomoku", size=3, line=3).
    """
    if is_source(name):
        return from_source(name, options)
    return _core.make_game(
        as_utf8(name), [(as_utf8(option), as_utf8(str(value))) for option, value in options.items()]
    )


def as_utf8(text: str) -> str:
    """A text that the core can be given; not each of the command line or of JSON is one."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadText(f"{text!r} is no UTF-8") from None
    return text
