"""Gomoku: wins by threats, and endgames.

A win is a line of play: the winner's fours and threes, and the replies that last longest. The
search's proof behind it has an answer to every legal reply, and a verifier that knows only the
rules has played all of them out.
"""

from collections.abc import Sequence
from threading import local

from zerofleet._core import GomokuSolver, Position
from zerofleet.errors import BadText

_made = local()


def threats(
    position: Position, max_nodes: int = 1_000_000, max_seconds: float = 0
) -> list[int] | None:
    """A proven win of the player to move by fours, else by fours and threes: actions in turn to the
    end of the game. None where none is proven within the bounds (0 seconds: no bound)."""
    if not max_seconds >= 0:
        raise BadText(f"max_seconds is 0 or more, not {max_seconds}")
    return solver_of(position).threats(position, max_nodes, max_seconds)


def verify_threats(position: Position, line: Sequence[int], max_nodes: int = 1_000_000) -> bool:
    """Whether the player to move wins with this line against every defence.

    Replies beside those of the line are answered by a search of at most `max_nodes` each, and the
    rules alone decide whether each answer wins: what is verified is proven, and False can also mean
    that an answer was not found.
    """
    return solver_of(position).verify_threats(position, list(line), max_nodes)


class GomokuValues:
    """Wins and losses by threats, and positions with at most 14 empty cells."""

    def value(self, position: Position) -> list[float] | None:
        proven, is_decided = solver_of(position).prove(position)
        if not is_decided:
            return None
        best = min(outcome for _, outcome, _ in proven)
        return [float(outcome == best) for outcome in range(len(position.game.outcomes))]

    def best_actions(self, position: Position) -> list[int] | None:
        """All of them in an endgame or a lost position; of a win by threats its first action."""
        proven, is_decided = solver_of(position).prove(position)
        if not is_decided:
            return None
        best = min(outcome for _, outcome, _ in proven)
        plies = {action: plies for action, outcome, plies in proven if outcome == best}
        wanted = min(plies.values()) if best == 0 else max(plies.values())
        return [action for action in plies if plies[action] == wanted]

    def plies_to_end(self, position: Position) -> int | None:
        """Of an endgame: a win by threats need not be the soonest."""
        return solver_of(position).plies_to_end(position)


def solver_of(position: Position) -> GomokuSolver:
    """The solver of the position's variant, made once per thread."""
    made: dict[tuple[str, ...], GomokuSolver] = _made.__dict__.setdefault("solvers", {})
    game = position.game
    variant = (game.name, *game.options.values())
    if variant not in made:
        made[variant] = GomokuSolver(game)
    return made[variant]
