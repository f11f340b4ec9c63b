"""Compares two sets of self-play games: is there a difference in play?

Games are the independent units: what a game has many of, such as searches, is averaged over the
game first. The p-values are corrected for multiple tests.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace

import numpy as np

from zerofleet.arena.statistics import Estimate, estimate, with_ends
from zerofleet.arena.two_samples import (
    Values,
    difference_estimate,
    holm,
    mean_estimate,
    permutation_p_values,
    smallest_p,
)
from zerofleet.errors import Inconsistent
from zerofleet.runs import LoggedGame

LEVEL = 0.05
"""The chance of a false alarm in one comparison of two sets."""


@dataclass(frozen=True)
class Measures:
    """What is compared of a game; None where the game does not have it."""

    plies: float
    score: float
    """Of the first player: win 1, draw or truncated 0.5, loss 0."""
    entropy: float | None
    """Mean over the policy targets, in nats."""
    surprise: float | None
    """Mean over the full searches."""
    value_bias: float | None
    """Mean of root value minus outcome in the mover's view, as a fraction of the largest reward:
    above 0 where searches are too optimistic."""
    value_error: float | None
    """Mean square of the same."""


MEASURES = [field.name for field in fields(Measures)]


@dataclass(frozen=True)
class Contrast:
    """One measure in two sets, A and B, with 95 % intervals."""

    measure: str
    first: Estimate | None
    """None where no game has it."""
    second: Estimate | None
    difference: Estimate | None
    """B minus A; None, like the p-values, where a set has fewer than two games with it."""
    p: float | None
    p_corrected: float | None

    @property
    def direction(self) -> str:
        """B is lower or higher; empty where no difference was found."""
        if self.difference is None or self.p_corrected is None or self.p_corrected >= LEVEL:
            return ""
        return "higher" if self.difference.mean > 0 else "lower"


@dataclass(frozen=True)
class Comparison:
    """Two sets of games compared."""

    results: tuple[Counter[str], Counter[str]]
    """How often each result of the first player occurs in A and in B."""
    contrasts: list[Contrast]

    @property
    def num_games(self) -> tuple[int, int]:
        first, second = self.results
        return first.total(), second.total()

    @property
    def verdict(self) -> str:
        """One sentence."""
        found = {
            direction: [each.measure for each in self.contrasts if each.direction == direction]
            for direction in ("lower", "higher")
        }
        texts = [f"{direction} {', '.join(names)}" for direction, names in found.items() if names]
        if texts:
            return f"The sets differ: B has {' and '.join(texts)}."
        num_tests = sum(each.p is not None for each in self.contrasts)
        if num_tests == 0 or num_tests * smallest_p(*self.num_games) >= LEVEL:
            return "Too few games: no difference, however large, could be told from chance."
        return "No difference was found; the intervals say how large one may still be."


def compare(first: Sequence[LoggedGame], second: Sequence[LoggedGame], seed: int = 1) -> Comparison:
    """Compares two sets of games of one game. Raises Inconsistent where a game is in both."""
    # By content: runs in one process number their games alike.
    seen = {played.episode.encode() for played in first}
    shared = [played.id for played in second if played.episode.encode() in seen]
    if shared:
        raise Inconsistent(
            f"the sets share {len(shared)} games, such as {shared[0]}; a comparison needs "
            "independent sets"
        )
    table = [table_of(games) for games in (first, second)]
    p_values = permutation_p_values(table[0], table[1], seed)
    corrected = iter(holm([p for p in p_values if p is not None]))
    contrasts = [
        contrast(measure, ours, theirs, p, None if p is None else next(corrected))
        for measure, ours, theirs, p in zip(MEASURES, table[0].T, table[1].T, p_values, strict=True)
    ]
    results = [Counter(played.result for played in games) for games in (first, second)]
    return Comparison((results[0], results[1]), contrasts)


def table_of(games: Sequence[LoggedGame]) -> Values:
    """A row per game, a column per measure; NaN where a game does not have it."""
    rows = [astuple(measures_of(played)) for played in games]
    return np.array(rows, dtype=float).reshape(-1, len(MEASURES))


def measures_of(played: LoggedGame) -> Measures:
    was_truncated = played.episode.outcome_first_player < 0
    rewards = None if was_truncated else played.positions()[-1].rewards()
    largest = max(abs(outcome.reward) for outcome in played.game.outcomes)
    entropies, surprises, errors = [], [], []
    for decision in played.decisions():
        if decision.policy:
            shares = np.array(list(decision.policy.values()))
            shares = shares[shares > 0]
            entropies.append(-float((shares * np.log(shares)).sum()))
        if decision.surprise is not None:
            surprises.append(decision.surprise)
        if decision.value_to_move is not None and rewards is not None:
            reward_to_move = rewards[decision.position.to_move]
            errors.append((decision.value_to_move - reward_to_move) / largest)
    return Measures(
        plies=played.num_plies,
        score=0.5 if rewards is None else 0.5 + 0.5 * float(np.sign(rewards[0])),
        entropy=mean_of(entropies),
        surprise=mean_of(surprises),
        value_bias=mean_of(errors),
        value_error=mean_of([error**2 for error in errors]),
    )


def mean_of(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None


def contrast(
    measure: str, first: Values, second: Values, p: float | None, p_corrected: float | None
) -> Contrast:
    first, second = first[~np.isnan(first)], second[~np.isnan(second)]
    is_score = measure == "score"
    means = [
        None if not len(values) else score_estimate(values) if is_score else mean_estimate(values)
        for values in (first, second)
    ]
    if p is None:
        return Contrast(measure, means[0], means[1], None, None, None)
    if is_score:  # two pseudo-games per set, as Agresti and Caffo (2000) do
        spread = difference_estimate(with_ends(list(first), 0, 1), with_ends(list(second), 0, 1))
    else:
        spread = difference_estimate(first, second)
    difference = replace(spread, mean=float(second.mean() - first.mean()))
    return Contrast(measure, means[0], means[1], difference, p, p_corrected)


def score_estimate(scores: Values) -> Estimate:
    return estimate(list(scores), 0, 1)
