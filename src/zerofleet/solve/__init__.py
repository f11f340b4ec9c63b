"""Exact solvers: game-theoretic values of positions.

zf.solve.Connect4Solver().value_to_move(zf.games.get("connect4").from_text("44444222"))
"""

from zerofleet._core import Connect4Solver

__all__ = ["Connect4Solver"]
