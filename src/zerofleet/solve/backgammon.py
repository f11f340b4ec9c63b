"""Exact values of backgammon endings and of hypergammon, by tables.

With 15 checkers: races in which both players have all checkers left home, at most six each. With
one to three (hypergammon): every position. The bear-off tables, and those of one and two checkers,
take seconds and are built on first use; that of three takes minutes and is built on request:

    zerofleet solve backgammon --option checkers=3
"""

from collections.abc import Callable, Sequence
from threading import Lock
from typing import NamedTuple

from zerofleet import _core
from zerofleet._core import Game, Position
from zerofleet.errors import BadBytes, IllegalAction
from zerofleet.solve import tables

VERSION = 1
"""Of the tables; another one for other bytes or other rules."""

STANDARD = 15
ON_REQUEST = 3
"""Checkers of the table that is not built on first use."""

Progress = Callable[[int, float], object]
"""Called with the number of sweeps done and the largest change in the last one."""

_building = Lock()


class BearoffRolls(NamedTuple):
    """How many rolls a bear-off takes."""

    mean: float
    distribution: list[float]
    """The probability of exactly 0, 1, 2 … rolls."""


def bearoff_rolls(counts: Sequence[int]) -> BearoffRolls:
    """The rolls that it takes to bear off the checkers on the points 1 to 6, at most 15, by the
    play of the fewest rolls on average.

    bearoff_rolls([0, 0, 0, 0, 0, 1]).mean   # one checker on the 6 point: 1.25
    """
    require_table(STANDARD)
    distribution = _core.bearoff_rolls(counts)
    return BearoffRolls(sum(n * chance for n, chance in enumerate(distribution)), distribution)


def bearoff_win_estimate(position: Position) -> float | None:
    """The probability that the player about to roll wins a race, each side with up to 15 checkers,
    all home. An estimate: both play for the fewest rolls and do not look at one another. None
    elsewhere, and where a player has rolled."""
    require_table(STANDARD)
    return _core.bearoff_win_estimate(position)


class BackgammonTables:
    """The tables of the process, as a solver."""

    def value(self, position: Position) -> list[float] | None:
        return (
            _core.backgammon_value(position) if require_table(checkers_of(position.game)) else None
        )

    def best_actions(self, position: Position) -> list[int] | None:
        if position.to_move == _core.CHANCE:
            raise IllegalAction(f"chance is to move here, not a player ({position!r})")
        if not require_table(checkers_of(position.game)):
            return None
        rewards = _core.backgammon_rewards(position)
        known = [reward for _, reward in rewards if reward is not None]
        if len(known) < len(rewards):
            return None
        return [action for action, reward in rewards if reward == max(known)]

    def plies_to_end(self, position: Position) -> None:
        """Dice decide when a game ends."""


def checkers_of(game: Game) -> int:
    return int(game.options["checkers"])


def name_of(checkers: int) -> str:
    return "bearoff" if checkers == STANDARD else f"hypergammon-{checkers}"


def require_table(checkers: int) -> bool:
    """Whether the process has the table for so many checkers: from the cache, else built now where
    that takes seconds."""
    with _building:
        if _core.has_backgammon_table(checkers) or install_cached(checkers):
            return True
        if checkers == ON_REQUEST:
            return False
        build(checkers, lambda num_sweeps, change: None)
        return True


def build_table(checkers: int, progress: Progress) -> bool:
    """Builds a table unless the process or the cache has it. Whether it was built."""
    with _building:
        if _core.has_backgammon_table(checkers) or install_cached(checkers):
            return False
        build(checkers, progress)
        return True


def build(checkers: int, progress: Progress) -> None:
    tables.write(name_of(checkers), VERSION, _core.build_backgammon_table(checkers, progress))


def install_cached(checkers: int) -> bool:
    kept = tables.read(name_of(checkers), VERSION)
    if kept is None:
        return False
    try:
        _core.install_backgammon_table(checkers, kept)
    except BadBytes as error:  # its checksum is right, so another version wrote it under this name
        raise BadBytes(f"{tables.path_of(name_of(checkers), VERSION)}: {error}") from None
    return True
