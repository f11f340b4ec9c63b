"""The games that come with zerofleet, by name."""

from zerofleet import _core
from zerofleet._core import Game, OptionSpec


def names() -> list[str]:
    """The names of all games."""
    return _core.game_names()


def option_specs(name: str) -> list[OptionSpec]:
    """The options of a game, with their defaults and what each may be."""
    return _core.option_specs(name)


def get(name: str, **options: int | str) -> Game:
    """A game with these options; those not given have their defaults.

    An unknown name or option is an error that names the known ones, nearest first.
    """
    return _core.make_game(name, [(option, str(value)) for option, value in options.items()])
