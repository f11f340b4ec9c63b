"""The conformance check: random games that test a game against its contract.

Among others: legal actions can be played and illegal ones are refused, probabilities sum to one,
the game ends within max_plies, texts round-trip, symmetries preserve the game, and hidden
information changes neither a player's observation nor its legal actions. The check serves built-in
and custom games alike.
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
"""Games per call of the core; Ctrl-C works between calls. Every 16th game is checked thoroughly."""


def check(
    game: Game | type[CustomPosition],
    num_games: int = 1000,
    seed: int = 1,
    on_progress: Callable[[int], None] = lambda num_games_done: None,
    max_s: float | None = None,
) -> CheckReport:
    """Plays `num_games` random games. Raises Inconsistent at the first violation of the contract,
    and RulesFailed if the game's own code raises.

    `game` is a game or the class of a custom game. `on_progress` gets the number of games played so
    far. With `max_s` no game starts after that many seconds.
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
    """Turns exceptions of a game's code into RulesFailed with the place of the check."""
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
    """Raises Inconsistent if playing on a copy changes the original position.

    Only for games in Python, where the user writes copy().
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
                        f"{place}playing on a copy() changed the original position; the two must "
                        "not share a list or an array"
                    )
                position = copied


def appearance(position: Position) -> tuple[object, ...]:
    """All observable facts of a position."""
    return (
        position.to_move,
        position.legal_actions(),
        position.chance_outcomes(),
        bytes(position.observe(0)),
        bytes(position.observe(1)),
        position.rewards() if position.to_move == OVER else None,
    )
