"""A game's rules as a short text, so that a run notices when they have changed."""

import hashlib
import random

from zerofleet._core import Game
from zerofleet.errors import Inconsistent
from zerofleet.games.check import appearance

NUM_GAMES = 32
MAX_PLIES = 2000
"""Of all these games together: enough to meet the rules, and a second or so in Python."""


def fingerprint(game: Game) -> str:
    """Sixteen hexadecimal digits: a hash of what is seen in a few games played at random.

    Two games have the same one if nothing in these games tells them apart: actions, chance,
    observations and rewards. Pictures and texts do not count, nor how or where it is written.
    """
    first, second = (hash_of_games(game) for _ in range(2))
    if first != second:
        raise Inconsistent(
            f"{game.name}: the same seed and actions gave another game; what is drawn at random "
            "must come from the seed, or be chance"
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
