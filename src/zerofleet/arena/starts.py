"""How the games of a match begin.

A deal or dice make each pair a game of its own. Where there are none, two players who always
answer alike would play one game again and again, so pairs begin with openings.
"""

from collections.abc import Callable, Sequence
from random import Random

from zerofleet._core import OVER
from zerofleet.arena.openings import openings as known_openings
from zerofleet.arena.pairs import stream
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game

RANDOM_PLIES = 2
"""Of an opening drawn at random: in games for which none are known, and behind one that comes
again."""


OpeningOf = Callable[[int], Sequence[int]]
"""The actions that the pair of a number begins with: drawn when it is asked for."""


def opening_of_each_pair(
    game: Game, seed: int, openings: Sequence[Sequence[int]] | None = None
) -> OpeningOf:
    """What each pair begins with.

    Openings are taken in an order drawn by the seed, each once before one comes again. Those that
    are given stay as they are; one of the game's own that comes again is followed by random plies,
    or the same two players would play the same game again and it would count as a new one.
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
        raise BadText("openings must hold at least one; an empty one is a new position")
    order = Random(seed).sample(range(len(openings)), len(openings))
    return lambda pair: openings[order[pair % len(order)]]


def stream_of(seed: int, pair: int) -> Random:
    return stream(seed, pair, "opening")


def has_deal(game: Game) -> bool:
    """Whether new games differ. A deal that gives eight seeds the same game is none."""
    return len({game.new_position(seed).to_text() for seed in range(8)}) > 1


def random_opening(game: Game, rng: Random, begin: Sequence[int] = ()) -> list[int]:
    """An opening, then random actions that do not end the game."""
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
    raise Inconsistent(f"{game.name}: {RANDOM_PLIES} random plies end the game: no openings")
