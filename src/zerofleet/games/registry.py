"""Games by name: built-in ones, and custom ones by path or module."""

from collections.abc import Mapping

from zerofleet import _core
from zerofleet._core import Game, OptionSpec
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games.sources import from_source, is_source


def names() -> list[str]:
    """The names of all built-in games."""
    return _core.game_names()


def option_specs(name: str) -> list[OptionSpec]:
    """The options of a built-in game, with defaults and valid values."""
    return _core.option_specs(name)


def get(name: str, /, **options: int | str) -> Game:
    """A game with these options; omitted ones have their defaults.

    `name` is one of `names()`, or locates a custom game: "sticks.py:Sticks",
    "package.module:Sticks" or "sticks.h"; see zerofleet.games.sources. The error for an unknown
    name or option lists the known ones, closest first. A name can be an alias for a game with fixed
    options: get("tictactoe") is get("gomoku", size=3, line=3).
    """
    if is_source(name):
        return from_source(name, options)
    return _core.make_game(
        as_utf8(name), [(as_utf8(option), as_utf8(str(value))) for option, value in options.items()]
    )


def built_in_or_given(name: str, options: Mapping[str, str], given: Game | None) -> Game:
    """The built-in game that a file names; else the custom game that the caller gives.

    A file never chooses code to load.
    """
    if name in names():
        game = get(name, **options)
        if given is not None and game != given:
            raise Inconsistent(f"it is a game of {game!r}, not of {given!r}")
        return game
    if given is None or given.name in names():
        raise BadText(f"it is a game of {name}, which is not built in; name that game to read it")
    return given


def as_utf8(text: str) -> str:
    """Refuses text that is not UTF-8, which the command line and JSON can contain."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise BadText(f"{text!r} is not UTF-8") from None
    return text
