"""Checks that a game keeps the contract, by playing random games.

Held are, among others: legal actions can be played and others are refused, probabilities add up to
one, the game ends within max_plies, texts are read back, symmetries do not change the game, and
what a player cannot see changes neither its observation nor its actions. The same check serves the
games here and a user's own.
"""

import random
from collections.abc import Callable

from zerofleet._core import OVER, CheckReport, Game, Position
from zerofleet.errors import Inconsistent
from zerofleet.games.own import OwnPosition, from_class

GAMES_AT_ONCE = 16
"""Between them Ctrl-C gets through. Every sixteenth game is checked thoroughly."""


def check(
    game: Game | type[OwnPosition],
    num_games: int = 1000,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda num_games_done: None,
) -> CheckReport:
    """Plays `num_games` random games; raises Inconsistent at the first broken promise.

    `game` is a game or a class that is one. `on_progress` is told now and then how many games were
    played.
    """
    if not isinstance(game, Game):
        game = from_class(game)
        check_copies(game)
    checking = game.start_check(seed)
    report = checking.run(0)
    while report.num_games < num_games:
        report = checking.run(min(GAMES_AT_ONCE, num_games - report.num_games))
        on_progress(report.num_games)
    return report


def check_copies(game: Game, num_games: int = 4) -> None:
    """Raises Inconsistent if playing on a copy changes the position that it was copied from.

    For games written in Python, whose copies are the user's; those of the core cannot go wrong.
    """
    rng = random.Random(1)
    for seed in range(num_games):
        position = game.new_position(seed)
        for _ in range(game.max_plies):
            ids = position.legal_actions() + [outcome for outcome, _ in position.chance_outcomes()]
            if not ids:
                break
            before = appearance(position)
            copied = position.copy()
            copied.play(rng.choice(ids))
            if appearance(position) != before:
                raise Inconsistent(
                    f"{game.name}: playing on what copy() gave changed the position itself"
                )
            position = copied


def appearance(position: Position) -> tuple[object, ...]:
    """All that the rules say about a position."""
    return (
        position.to_move,
        position.legal_actions(),
        position.chance_outcomes(),
        bytes(position.observe(0)),
        bytes(position.observe(1)),
        position.rewards() if position.to_move == OVER else None,
    )
