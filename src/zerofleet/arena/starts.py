"""How the games of a match begin.

A deal or dice make each pair a game of its own. Where there are none, two players who always
answer alike would play one game again and again, so pairs begin with openings.
"""

from collections.abc import Sequence
from random import Random

from zerofleet._core import OVER
from zerofleet.arena.openings import openings as known_openings
from zerofleet.arena.pairs import stream
from zerofleet.errors import BadText, Inconsistent
from zerofleet.games import Game

RANDOM_PLIES = 2
"""Of an opening drawn at random: in games for which none are known, and behind one that comes
again."""


def opening_of_each_pair(
    game: Game, seed: int, num_pairs: int, openings: Sequence[Sequence[int]] | None = None
) -> list[Sequence[int]]:
    """The actions that each pair begins with.

    Openings are taken in an order drawn by the seed, each once before one comes again. Those that
    are given stay as they are; one of the game's own that comes again is followed by random plies,
    or the same two players would play the same game again and it would count as a new one.
    """
    if openings is not None:
        return in_turn(openings, seed, num_pairs)
    listed = known_openings(game)
    if listed:
        return [
            opening if pair < len(listed) else random_opening(game, stream_of(seed, pair), opening)
            for pair, opening in enumerate(in_turn(listed, seed, num_pairs))
        ]
    if game.num_chance_outcomes or has_deal(game):
        return [[]] * num_pairs
    return [random_opening(game, stream_of(seed, pair)) for pair in range(num_pairs)]


def in_turn(openings: Sequence[Sequence[int]], seed: int, num_pairs: int) -> list[Sequence[int]]:
    if not openings:
        raise BadText("openings must hold at least one; an empty one is a new position")
    order = Random(seed).sample(range(len(openings)), len(openings))
    return [openings[order[pair % len(order)]] for pair in range(num_pairs)]


def stream_of(seed: int, pair: int) -> Random:
    return stream(seed, pair, "opening")


def has_deal(game: Game) -> bool:
    """Whether new games differ. A deal that gives eight seeds the same game is none."""
    return len({game.new_position(seed).to_text() for seed in range(8)}) > 1


def random_opening(game: Game, rng: Random, begin: Sequence[int] = ()) -> list[int]:
    """An opening, then random actions after which the game goes on."""
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
