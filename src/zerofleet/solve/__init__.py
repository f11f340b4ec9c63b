"""Exact solvers: game-theoretic values of positions.

zf.solve.value(zf.games.get("connect4").from_text("42153276671172"))   # [0.0, 1.0, 0.0]: a draw
"""

from zerofleet._core import BeastyBarSolver, Connect4Solver, GomokuSolver
from zerofleet.solve.backgammon import BearoffRolls, bearoff_rolls, bearoff_win_estimate
from zerofleet.solve.gomoku import threats, verify_threats
from zerofleet.solve.values import best_actions, plies_to_end, refuse_unsolved, value

__all__ = [
    "BearoffRolls",
    "BeastyBarSolver",
    "Connect4Solver",
    "GomokuSolver",
    "bearoff_rolls",
    "bearoff_win_estimate",
    "best_actions",
    "plies_to_end",
    "refuse_unsolved",
    "threats",
    "value",
    "verify_threats",
]
