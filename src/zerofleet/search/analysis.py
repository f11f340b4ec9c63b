"""The result of a search, as an object, text or JSON."""

from dataclasses import dataclass, field

from zerofleet._core import CHANCE, Position, RootResult
from zerofleet.errors import IllegalAction

MOVES_SHOWN = 10
CERTAIN = 1 - 1e-6
"""A probability above is that of a certain outcome; the rest is the rounding of floats."""
DIGITS = 6
"""Decimal digits in JSON: the precision of a float32."""


@dataclass(frozen=True)
class Analysis:
    """The result of a search.

    Actions are ids. Dicts have all legal actions as keys unless stated otherwise. Where chance is
    to move the keys are its outcomes, and values are in the view of the player about to roll.
    Values are expected rewards in the game's units.
    """

    position: Position = field(repr=False)
    """A copy of the position searched."""
    visits: dict[int, int] = field(repr=False)
    policy: dict[int, float] = field(repr=False)
    """PUCT: visit fractions. Gumbel: the improved policy."""
    target: dict[int, float] = field(repr=False)
    """The policy target of self-play: the policy after policy-target pruning, without actions that
    proofs rule out."""
    priors: dict[int, float] = field(repr=False)
    """The evaluator's policy."""
    values_to_move: dict[int, float] = field(repr=False)
    """Q-values of visited actions and of immediate wins."""
    value_to_move: float
    outcomes_to_move: dict[str, float]
    """The probability of each outcome, by name."""
    principal_variation: list[int]
    """The most visited line, up to the first dice roll."""
    depth: int
    """Plies from the root to the deepest leaf."""
    num_simulations: int
    num_bytes: int
    """Memory of the tree."""
    solved: bool
    """Whether value_to_move is proven."""
    plies_to_end: int | None
    """To the end of a game proven won or lost: by the shortest win found, or the longest loss. None
    where it is open, drawn or up to the dice."""
    memory_full: bool
    """Whether the search ended early because max_bytes was reached."""
    _best_action: int = field(repr=False)

    @property
    def best_action(self) -> int:
        """The action to play."""
        if self.position.to_move == CHANCE:
            raise IllegalAction(f"chance is to move here, not a player ({self.position!r})")
        return self._best_action

    @staticmethod
    def of(position: Position, result: RootResult) -> "Analysis":
        actions = result.actions
        values = zip(actions, result.visits, result.values_to_move, strict=True)
        names = [outcome.name for outcome in position.game.outcomes]
        return Analysis(
            position=position.copy(),
            visits=dict(zip(actions, result.visits, strict=True)),
            policy=dict(zip(actions, result.policy, strict=True)),
            target=dict(zip(actions, result.target, strict=True)),
            priors=dict(zip(actions, result.priors, strict=True)),
            values_to_move={
                action: value for action, visits, value in values if visits > 0 or value != 0
            },
            value_to_move=result.value_to_move,
            outcomes_to_move=dict(zip(names, result.outcomes_to_move, strict=True)),
            principal_variation=result.principal_variation,
            depth=result.depth,
            num_simulations=result.num_simulations,
            num_bytes=result.num_bytes,
            solved=result.solved,
            plies_to_end=plies_to_end(position, result),
            memory_full=result.memory_full,
            _best_action=result.best_action,
        )

    def ranked_actions(self) -> list[int]:
        """All legal actions: the best one first, then by policy and visits."""

        def rank(action: int) -> tuple[bool, float, int]:
            return action != self._best_action, -self.policy[action], -self.visits[action]

        return sorted(self.policy, key=rank)

    def line_text(self) -> str:
        """The principal variation as one text."""
        return " ".join(self.line())

    def line(self) -> list[str]:
        """The principal variation as action texts."""
        texts = []
        position = self.position.copy()
        for action in self.principal_variation:
            texts.append(position.action_text(action))
            # With hidden hands the line is not played out: it must not reveal the true hands.
            if not position.game.hidden:
                position.play(action)
        return texts

    def to_json(self, top: int) -> dict[str, object]:
        """The `top` best moves and the evaluation of the position, for JSON."""
        is_chance = self.position.to_move == CHANCE
        moves = [
            {
                "move": self.position.action_text(action),
                "visits": self.visits[action],
                "policy": rounded(self.policy[action]),
                "prior": rounded(self.priors[action]),
                "value_to_move": rounded(self.values_to_move.get(action)),
            }
            for action in self.ranked_actions()[:top]
        ]
        return {
            "to_move": "chance" if is_chance else self.position.to_move,
            "best": None if is_chance else self.position.action_text(self._best_action),
            "value_to_move": rounded(self.value_to_move),
            "outcomes_to_move": {
                name: rounded(chance) for name, chance in self.outcomes_to_move.items()
            },
            "line": self.line(),
            "moves": moves,
            "num_simulations": self.num_simulations,
            "depth": self.depth,
            "solved": self.solved,
            "proof": self.proof(),
            "plies_to_end": self.plies_to_end,
            "memory_full": self.memory_full,
        }

    def summary(self) -> str:
        """One line: value, simulations and depth."""
        notes = [f"{self.num_simulations} simulations", f"depth {self.depth}"]
        if self.solved:
            notes.append(f"proven: {self.proof()}")
        if self.memory_full:
            notes.append("ended early: memory full")
        return f"value_to_move {self.value_to_move:+.3f} ({', '.join(notes)})"

    def proof(self) -> str | None:
        """What is proven for the player to move: `wins in 7 plies`, `draws`, `loses`, or `exact
        value` where the dice decide. None without a proof."""
        if not self.solved:
            return None
        certain = [name for name, chance in self.outcomes_to_move.items() if chance > CERTAIN]
        if not certain:
            return "exact value"
        rewards = {outcome.name: outcome.reward for outcome in self.position.game.outcomes}
        reward = rewards[certain[0]]
        verb = "wins" if reward > 0 else "loses" if reward < 0 else "draws"
        if self.plies_to_end is None:
            return verb
        return f"{verb} in {self.plies_to_end} {'ply' if self.plies_to_end == 1 else 'plies'}"

    def rows(self) -> list[tuple[str, str, str, str, str]]:
        """Action, visits, policy, value and prior of each action as text, best first."""
        return [
            (
                self.position.action_text(action),
                str(self.visits[action]),
                f"{self.policy[action]:.1%}",
                f"{self.values_to_move[action]:+.3f}" if action in self.values_to_move else "",
                f"{self.priors[action]:.1%}",
            )
            for action in self.ranked_actions()
        ]

    def __str__(self) -> str:
        table = [("action", "visits", "policy", "value", "prior"), *self.rows()[:MOVES_SHOWN]]
        widths = [max(len(row[column]) for row in table) for column in range(5)]
        lines = [
            "  ".join(
                cell.ljust(width) if column == 0 else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            )
            for row in table
        ]
        if len(self.visits) > MOVES_SHOWN:
            lines.append(f"… {len(self.visits) - MOVES_SHOWN} more")
        return "\n".join([self.summary(), *lines, f"line: {self.line_text()}"])


def plies_to_end(position: Position, result: RootResult) -> int | None:
    """How long a proven game lasts; None where that is not known, or not of interest."""
    if position.game.num_chance_outcomes > 0 or result.value_to_move == 0:
        return None
    return result.plies_to_end or None


def rounded(number: float | None) -> float | None:
    return None if number is None else round(number, DIGITS)
