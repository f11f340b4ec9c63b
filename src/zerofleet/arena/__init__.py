"""Players, matches and ratings.

    player = zf.arena.player("connect4", "run:c4,sims=200")
    position.play(player.choose(position))
    print(zf.arena.match("beastybar", "heuristic", "random", num_games=400, seed=1))

Torch is loaded only where a network plays.
"""

from zerofleet.arena.gate import GateResult, Hypotheses, gate
from zerofleet.arena.match import match
from zerofleet.arena.match_result import Match
from zerofleet.arena.player import Player
from zerofleet.arena.players import player
from zerofleet.arena.ratings import Ratings, rate
from zerofleet.arena.search_players import PolicyPlayer, SearchPlayer

__all__ = [
    "GateResult",
    "Hypotheses",
    "Match",
    "Player",
    "PolicyPlayer",
    "Ratings",
    "SearchPlayer",
    "gate",
    "match",
    "player",
    "rate",
]
