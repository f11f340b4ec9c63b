"""A short hash of a game's behaviour, by which a run notices changed rules."""

import hashlib
import random

from zerofleet._core import Game
from zerofleet.errors import Inconsistent
from zerofleet.games.check import appearance

NUM_GAMES = 32
MAX_PLIES = 2000
"""Over all games: enough to exercise the rules, about a second in Python."""


def fingerprint(game: Game) -> str:
    """Sixteen hexadecimal digits: a hash of a few random games.

    It covers legal actions, chance, observations and rewards, but neither texts and pictures nor
    the source code.
    """
    first, second = (hash_of_games(game) for _ in range(2))
    if first != second:
        raise Inconsistent(
            f"{game.name}: the same seed and actions gave a different game; randomness must come "
            "from the seed or from chance outcomes"
        )
    return first


def hash_of_games(game: Game) -> str:
    rng = random.Random(1)
    seen = hashlib.sha256()
    plies_left = MAX_PLIES
    for seed in range(NUM_GAMES):
        position = game.new_position(seed)
        for _ in range(min(game.max_plies, plies_left)):
            seen.update(repr(appearance(position)).encode())
            ids = position.legal_actions() + [outcome for outcome, _ in position.chance_outcomes()]
            if not ids:
                break
            position.play(rng.choice(ids))
            plies_left -= 1
        seen.update(repr(appearance(position)).encode())
    return seen.hexdigest()[:16]
