"""Searches one position, or many at once."""

import math
import time
from collections.abc import Sequence
from typing import Unpack

import numpy as np

from zerofleet._core import Position, RootResult, SearchBatch, analysis_settings
from zerofleet.errors import BadText, Unsupported
from zerofleet.games.custom import CustomPosition, position_of
from zerofleet.search.analysis import Analysis
from zerofleet.search.evaluate import (
    CoreEvaluatorName,
    Evaluate,
    Observations,
    Rows,
    evaluate_checked,
)
from zerofleet.search.settings import RootName, SearchSettings

NUM_SIMULATIONS = 800
"""Of an analysis where neither simulations nor seconds are given."""

LEAVES_AT_ONCE = 256
"""Between them Ctrl-C gets through, and the clock is read."""

MOST_SIMULATIONS = 2**32 - 2
"""The most that the core counts: the budget of a search that the clock ends."""

MOST_GUMBEL_SIMULATIONS = 2**24
"""A Gumbel root plans each simulation beforehand, four bytes for each."""

TIMED_LEAVES = 8
"""Leaves that a search by the clock hands to a callable evaluator at once, kept apart by virtual
loss. Fixed budgets have one, which is a little stronger per simulation and slower."""

TIMED_BYTES = 1 << 30
"""Memory that the trees of one search by the clock share. A search that fills its share ends."""

NO_LEAVES = np.empty((0, 0), np.uint8)


def analyse(
    position: Position | CustomPosition,
    evaluator: CoreEvaluatorName | Evaluate = "uniform",
    num_simulations: int | None = None,
    seed: int = 1,
    root: RootName = "puct",
    seconds: float | None = None,
    **settings: Unpack[SearchSettings],
) -> Analysis:
    """What to play in a position that is not over, and what it is worth.

    `evaluator` judges the leaves: "uniform" (all alike, so that only the ends of games count),
    "playout" (one random game each: plain Monte Carlo tree search), "hash" (fixed arithmetic, for
    tests), or a function, see Evaluate. The budget is `num_simulations` (800, unless said) or
    `seconds`, by the clock. A fixed number with the same seed and the same answers gives the same
    result. Where something is hidden, only what the player to move knows is used.

    The search does not explore: no noise, no forced playouts, and every action is visited early.
    `settings` can turn each of these on; see SearchSettings.
    """
    position = position_of(position)
    if num_simulations is None and seconds is None:
        num_simulations = NUM_SIMULATIONS
    (result,) = search_many(
        [position], evaluator, num_simulations, [seed], root, seconds, **settings
    )
    return Analysis.of(position, result)


def search_many(
    positions: Sequence[Position],
    evaluator: CoreEvaluatorName | Evaluate,
    num_simulations: int | None,
    seeds: Sequence[int],
    root: RootName = "puct",
    seconds: float | None = None,
    **settings: Unpack[SearchSettings],
) -> list[RootResult]:
    """What a search of each position finds; all are of one game, and each has its seed.

    The leaves of all searches go to the evaluator together. A position gets what `analyse` finds
    for it with its seed, as far as the evaluator's answers do not depend on the batch. With
    `seconds` the searches have that time together, not each.
    """
    name = evaluator if isinstance(evaluator, str) else None
    running = RunningSearch(positions, name, num_simulations, seeds, root, seconds, **settings)
    while not running.finished:
        observations = running.gather()
        if not isinstance(evaluator, str) and len(observations) > 0:
            running.absorb(*evaluate_checked(evaluator, positions[0].game, observations))
    return running.results()


class RunningSearch:
    """Searches of positions in steps, for who evaluates their leaves; see search_many.

    `evaluator` is one of the core, whose every step is a `gather` that gives no leaves; or None,
    where the leaves that `gather` gives are answered by `absorb`. By the clock, which begins here,
    a search ends at the first step after its time, and before it where its root is proven or its
    memory is full; it has one simulation at least.
    """

    def __init__(
        self,
        positions: Sequence[Position],
        evaluator: CoreEvaluatorName | None,
        num_simulations: int | None,
        seeds: Sequence[int],
        root: RootName = "puct",
        seconds: float | None = None,
        **settings: Unpack[SearchSettings],
    ) -> None:
        refuse_unclear_budget(num_simulations, seconds, root)
        chosen = analysis_settings()
        self._deadline = None
        if seconds is not None:
            self._deadline = time.monotonic() + seconds
            num_simulations = MOST_SIMULATIONS
            share = max(1, len(positions))
            chosen["max_leaves"] = max(1, TIMED_LEAVES // share)
            chosen["max_bytes"] = TIMED_BYTES // share
        chosen |= {**settings, "num_simulations": num_simulations, "root": root}
        self._has_evaluator = evaluator is not None
        self._batch = SearchBatch(positions, chosen, seeds, evaluator)

    @property
    def finished(self) -> bool:
        return self._batch.finished

    def gather(self) -> Observations:
        """Searches until there are leaves to evaluate, uint8 [B, N]; there may be none."""
        if self._deadline is not None:
            self._batch.stop(only_solved=time.monotonic() < self._deadline)
        if self._has_evaluator:
            self._batch.run(LEAVES_AT_ONCE)
            return NO_LEAVES
        return self._batch.gather()

    def absorb(self, logits_BA: Rows, outcomes_BO: Rows) -> None:
        """Takes in the answers to all leaves of the last gather."""
        self._batch.absorb(logits_BA, outcomes_BO)

    def results(self) -> list[RootResult]:
        """In the order of the positions."""
        return self._batch.results()


def refuse_unclear_budget(
    num_simulations: int | None, seconds: float | None, root: RootName
) -> None:
    """Raises unless there are either simulations or seconds, and a root that can do with them."""
    if (num_simulations is None) == (seconds is None):
        raise BadText("a search has num_simulations or seconds: give one of them")
    if seconds is None:
        if root == "gumbel" and (num_simulations or 0) > MOST_GUMBEL_SIMULATIONS:
            raise BadText(
                f"a Gumbel root plans at most {MOST_GUMBEL_SIMULATIONS} simulations, got "
                f"{num_simulations}; use fewer, or root puct"
            )
        return
    if not (math.isfinite(seconds) and seconds > 0):
        raise BadText(f"seconds must be a number above 0, got {seconds}")
    if root == "gumbel":
        raise Unsupported(
            "root=gumbel plans its rounds for a fixed number of simulations, so seconds do not go "
            "with it; give simulations, or root=puct"
        )
