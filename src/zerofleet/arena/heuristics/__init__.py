"""Rule-based players: simple baselines.

Each uses only the observation of the player to move, and looks ahead one turn.
"""

from collections.abc import Callable
from functools import partial

from zerofleet.arena.heuristics import backgammon, beastybar
from zerofleet.arena.heuristics.lines import LinePlayer
from zerofleet.arena.player import Player
from zerofleet.arena.simple_players import GreedyPlayer
from zerofleet.games import Game

HEURISTICS: dict[str, dict[str, Callable[[Game], Player]]] = {
    "backgammon": {"heuristic": lambda game: GreedyPlayer("heuristic", backgammon.values)},
    "beastybar": {
        name: partial(beastybar.player, name) for name in ("heuristic", "aggressive", "defensive")
    },
    "connect4": {"heuristic": LinePlayer},
    "gomoku": {"heuristic": LinePlayer},
}
"""By game and name."""
