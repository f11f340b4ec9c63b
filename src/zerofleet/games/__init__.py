"""The games: by name, as positions, as text, and checked.

    game = zf.games.get("gomoku", size=15)
    position = game.new_position(seed=7)
    position.play(position.action_from_text("h8"))
    print(position)

The rules are in C++. A user's own game can be one Python class: see zerofleet.games.own.
"""

from zerofleet._core import CheckReport, Episode, Event, Game, OptionSpec, Outcome, Position
from zerofleet.games.check import check
from zerofleet.games.own import OwnPosition, from_class
from zerofleet.games.registry import get, names, option_specs

__all__ = [
    "CheckReport",
    "Episode",
    "Event",
    "Game",
    "OptionSpec",
    "Outcome",
    "OwnPosition",
    "Position",
    "check",
    "from_class",
    "get",
    "names",
    "option_specs",
]
