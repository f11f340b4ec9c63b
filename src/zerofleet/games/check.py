"""Checks that a game keeps the contract, by playing random games.

Held are, among others: legal actions can be played and others are refused, probabilities add up to
one, the game ends within max_plies, texts are read back, symmetries do not change the game, and
what a player cannot see changes neither its observation nor its actions. The same check serves the
games here and a user's own.
"""

import math
import random
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from zerofleet._core import OVER, CheckReport, Game, Position
from zerofleet.errors import Inconsistent, RulesFailed, ZerofleetError
from zerofleet.games.custom import CustomPosition, from_class

GAMES_AT_ONCE = 16
"""Between them Ctrl-C gets through. Every sixteenth game is checked thoroughly."""


def check(
    game: Game | type[CustomPosition],
    num_games: int = 1000,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda num_games_done: None,
    max_s: float | None = None,
) -> CheckReport:
    """Plays `num_games` random games; raises Inconsistent at the first broken promise, RulesFailed
    where the game's own code does not come through.

    `game` is a game or a class that is one. `on_progress` is told now and then how many games were
    played. With `max_s` no game is begun after so many seconds.
    """
    if not isinstance(game, Game):
        game = from_class(game)
    if game.in_python:
        check_copies(game)
    checking = game.start_check(seed)
    end_s = math.inf if max_s is None else time.monotonic() + max_s
    at_once = GAMES_AT_ONCE if max_s is None else 1
    with naming_failures(lambda: f"{game.name}: {checking.where}"):
        report = checking.run(0)
        while report.num_games < num_games and time.monotonic() < end_s:
            report = checking.run(min(at_once, num_games - report.num_games))
            on_progress(report.num_games)
    return report


@contextmanager
def naming_failures(place: Callable[[], str]) -> Iterator[None]:
    """What the code of a game raises is raised as RulesFailed, with the place that it came to."""
    try:
        yield
    except RulesFailed as error:
        raise RulesFailed(f"{place()}{error}") from error
    except ZerofleetError:
        raise
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        raise RulesFailed(
            f"{place()}{type(error).__name__}: {error} ({frame.filename}:{frame.lineno})"
        ) from error


def check_copies(game: Game, num_games: int = 4) -> None:
    """Raises Inconsistent if playing on a copy changes the position that it was copied from.

    For games written in Python, whose copies are the user's; those of the core cannot go wrong.
    """
    place = ""
    with naming_failures(lambda: place):
        for seed in range(num_games):
            place = f"{game.name}: game {seed}, start: "
            rng = random.Random(seed)
            position = game.new_position(seed)
            for ply in range(game.max_plies):
                place = f"{game.name}: game {seed}, ply {ply}: "
                ids = position.legal_actions()
                ids += [outcome for outcome, _ in position.chance_outcomes()]
                if not ids:
                    break
                before = appearance(position)
                copied = position.copy()
                copied.play(rng.choice(ids))
                if appearance(position) != before:
                    raise Inconsistent(
                        f"{place}playing on what copy() gave changed the position itself; the two "
                        "must not share a list or an array"
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
