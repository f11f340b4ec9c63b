"""Exact values of positions, by the solver of their game.

Each game with a solver has an entry in `SOLVERS`. A solver is made on first use, once per thread.
"""

from collections.abc import Callable
from threading import local
from typing import Protocol

from zerofleet._core import OVER, BeastyBarSolver, Connect4Solver, Game, Position
from zerofleet.errors import IllegalAction, Unsupported
from zerofleet.solve import backgammon
from zerofleet.solve.gomoku import GomokuValues


class Solver(Protocol):
    """What a game's solver answers; None where it cannot solve the position."""

    def value(self, position: Position) -> list[float] | None: ...
    def best_actions(self, position: Position) -> list[int] | None: ...
    def plies_to_end(self, position: Position) -> int | None: ...


def value(position: Position) -> list[float] | None:
    """The exact probability of each outcome, in the order of `game.outcomes`, where both play
    perfectly: for the player to move, or about to roll. None where no solver can tell."""
    solver = solver_of(position)
    return None if solver is None else solver.value(position)


def best_actions(position: Position) -> list[int] | None:
    """The actions of the best exact value. Where the solver knows when the game ends, only the
    soonest wins and the latest losses. None where no solver can tell."""
    solver = solver_of(position)
    return None if solver is None else solver.best_actions(position)


def plies_to_end(position: Position) -> int | None:
    """Plies to the end of the game where both play perfectly, the winner for the soonest win and
    the loser for the latest loss. None where no solver can tell."""
    solver = solver_of(position)
    return None if solver is None else solver.plies_to_end(position)


class Connect4Values:
    """Solves every position of Connect Four; with fewer than eight discs it takes long."""

    def __init__(self) -> None:
        self._solver = Connect4Solver()

    def value(self, position: Position) -> list[float]:
        value_to_move = self._solver.value_to_move(position)
        return [float(value_to_move == each) for each in (1, 0, -1)]  # win, draw, loss

    def best_actions(self, position: Position) -> list[int]:
        return self._solver.best_columns(position)

    def plies_to_end(self, position: Position) -> int:
        return self._solver.plies_to_end(position)


class BeastyBarValues:
    """Solves positions with empty piles and at most four cards a hand, of both scorings."""

    def __init__(self) -> None:
        self._solver = BeastyBarSolver()

    def value(self, position: Position) -> list[float] | None:
        score = self._solver.score_to_move(position)
        if score is None:
            return None
        return [float(score > 0), float(score == 0), float(score < 0)]  # win, draw, loss

    def best_actions(self, position: Position) -> list[int] | None:
        scores = self._solver.score_actions(position)
        if scores is None:
            return None
        best = max(score for _, score in scores)
        return [action for action, score in scores if score == best]

    def plies_to_end(self, position: Position) -> int | None:
        """None for a draw."""
        return self._solver.plies_to_end(position)


SOLVERS: dict[str, Callable[[], Solver]] = {
    "backgammon": backgammon.BackgammonTables,
    "beastybar": BeastyBarValues,
    "connect4": Connect4Values,
    "gomoku": GomokuValues,
}
"""By the name of the game."""

PERFECT = "connect4 and hypergammon (backgammon with checkers=1, 2 or 3)"

_made = local()


def refuse_unsolved(game: Game) -> None:
    """Raises unless every position of the game can be solved."""
    if game.name == "connect4":
        return
    checkers = backgammon.checkers_of(game) if game.name == "backgammon" else None
    if checkers is None or checkers == backgammon.STANDARD:
        raise Unsupported(f"there is no perfect player of {game!r}; the solver plays {PERFECT}")
    if not backgammon.require_table(checkers):
        raise Unsupported(
            f"hypergammon with {checkers} checkers is not solved yet; solve it, which takes "
            f"minutes: zerofleet solve backgammon --option checkers={checkers}"
        )


def solver_of(position: Position) -> Solver | None:
    """The solver of the position's game, None where it has none."""
    if position.to_move == OVER:
        raise IllegalAction("the game is over, so there is nothing to solve")
    name = position.game.name
    if name not in SOLVERS:
        return None
    made: dict[str, Solver] = _made.__dict__
    if name not in made:
        made[name] = SOLVERS[name]()
    return made[name]
