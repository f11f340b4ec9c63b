"""Exact values of Beasty Bar's endings, from the last draw on."""

from zerofleet._core import BeastyBarSolver, Position


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
        return self._solver.plies_to_end(position)
