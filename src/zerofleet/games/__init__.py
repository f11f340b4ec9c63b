"""Games: rules, positions, records, and the conformance check.

    game = zf.games.get("gomoku", size=15)
    position = game.new_position(seed=7)
    position.play(position.action_from_text("h8"))
    print(position)

The rules are in C++. A custom game is one Python class (zerofleet.games.custom) or one C++ header
(zerofleet.games.build); its path names it (zerofleet.games.sources). A GameRecord is one played
game; zerofleet.games.formats reads and writes the usual file formats.
"""

from zerofleet._core import CheckReport, Episode, Event, Game, OptionSpec, Outcome, Position
from zerofleet.games.build import build
from zerofleet.games.check import check
from zerofleet.games.custom import CustomPosition, from_class
from zerofleet.games.fingerprint import fingerprint
from zerofleet.games.formats import games_from_text, games_to_text, read_games, write_games
from zerofleet.games.record import GameRecord
from zerofleet.games.registry import get, names, option_specs
from zerofleet.games.sources import absolute, code_places, is_file, is_source, short_name

__all__ = [
    "CheckReport",
    "CustomPosition",
    "Episode",
    "Event",
    "Game",
    "GameRecord",
    "OptionSpec",
    "Outcome",
    "Position",
    "absolute",
    "build",
    "check",
    "code_places",
    "fingerprint",
    "from_class",
    "games_from_text",
    "games_to_text",
    "get",
    "is_file",
    "is_source",
    "names",
    "option_specs",
    "read_games",
    "short_name",
    "write_games",
]
