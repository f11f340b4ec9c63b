"""How the games of a match start.

A deal or dice make each pair a new game. Without them two deterministic players would repeat one
game, so pairs start with openings.
"""

from collections.abc import Callable, Sequence
from random import Random

from zerofleet._core import OVER
from zerofleet.arena.openings import openings as known_openings
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game

RANDOM_PLIES = 2
"""Random plies of an opening: in games without a list, and after a listed opening that repeats."""


OpeningOf = Callable[[int], Sequence[int]]
"""Maps the index of a pair to its opening actions; evaluated lazily."""


def opening_of_each_pair(
    game: Game, seed: int, openings: Sequence[Sequence[int]] | None = None
) -> OpeningOf:
    """The opening of each pair.

    Openings come in a random order that depends on the seed, each once before one repeats. Given
    openings repeat unchanged. A listed opening that repeats is followed by random plies: otherwise
    two deterministic players would repeat a game and it would count twice.
    """
    if openings is not None:
        return in_turn(openings, seed)
    listed = known_openings(game)
    if listed:
        in_order = in_turn(listed, seed)

        def known_then_random(pair: int) -> Sequence[int]:
            if pair < len(listed):
                return in_order(pair)
            return random_opening(game, stream_of(seed, pair), in_order(pair))

        return known_then_random
    if game.num_chance_outcomes or has_deal(game):
        return lambda pair: []
    return lambda pair: random_opening(game, stream_of(seed, pair))


def in_turn(openings: Sequence[Sequence[int]], seed: int) -> OpeningOf:
    if not openings:
        raise BadText("openings must not be empty; [[]] starts every pair from a new position")
    order = Random(seed).sample(range(len(openings)), len(openings))
    return lambda pair: openings[order[pair % len(order)]]


def stream_of(seed: int, pair: int) -> Random:
    return Random(f"{seed}, {pair}, opening")


def has_deal(game: Game) -> bool:
    """Whether the seed changes the initial position, tested on eight seeds."""
    return len({game.new_position(seed).to_text() for seed in range(8)}) > 1


def random_opening(game: Game, rng: Random, begin: Sequence[int] = ()) -> list[int]:
    """An opening followed by random actions that do not end the game."""
    for _ in range(100):
        position = game.new_position()
        actions = list(begin)
        for action in begin:
            position.play(action)
        for _ in range(RANDOM_PLIES):
            if position.to_move == OVER:
                break
            actions.append(rng.choice(position.legal_actions()))
            position.play(actions[-1])
        if position.to_move != OVER:
            return actions
    raise Inconsistent(
        f"{game.name}: no opening found; {RANDOM_PLIES} random plies always end the game"
    )
