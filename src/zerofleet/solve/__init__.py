"""Exact solvers: game-theoretic values of positions.

zf.solve.value(zf.games.get("connect4").from_text("44444222"))   # [0.0, 1.0, 0.0]: a draw
"""

from zerofleet._core import BeastyBarSolver, Connect4Solver, GomokuSolver
from zerofleet.solve.gomoku import threats, verify_threats
from zerofleet.solve.values import best_actions, plies_to_end, value

__all__ = [
    "BeastyBarSolver",
    "Connect4Solver",
    "GomokuSolver",
    "best_actions",
    "plies_to_end",
    "threats",
    "value",
    "verify_threats",
]
