"""Searches one position, or a batch of positions."""

import math
import time
from collections.abc import Callable, Sequence
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
"""Default budget of an analysis."""

LEAVES_AT_ONCE = 256
"""Leaves per call of the core; between calls Ctrl-C works and the clock is read."""

MAX_SIMULATIONS = 2**32 - 2
"""The largest count in the core: the budget of a timed search."""

MAX_GUMBEL_SIMULATIONS = 2**24
"""A Gumbel root schedules sequential halving in advance, four bytes per simulation."""

TIMED_LEAVES = 8
"""Leaves per batch that a timed search gives to a callable evaluator, diversified by virtual loss.
Fixed budgets use one leaf, which is a little stronger per simulation and slower."""

TIMED_BYTES = 1 << 30
"""Memory shared by the trees of one timed search. A search that fills its share ends."""

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
    """Searches a position that is not over: policy, values and the best action.

    `evaluator` evaluates the leaves: "uniform" (uniform policy, value 0), "playout" (one random
    playout each: plain Monte Carlo tree search), "hash" (fixed arithmetic, for tests), or a
    callable, see Evaluate. The budget is `num_simulations` (default 800) or `seconds`. A fixed
    number of simulations with the same seed and evaluations gives the same result. With hidden
    information the search is information-set MCTS (Cowling et al. 2012) and uses only what the
    player to move knows.

    The search does not explore as self-play does: no noise and no forced playouts. `settings` can
    turn these on; see SearchSettings.
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
    on_step: Callable[[], None] = lambda: None,
    **settings: Unpack[SearchSettings],
) -> list[RootResult]:
    """Searches positions of one game concurrently, each with its seed.

    The leaves of all searches share the evaluator's batches. Each result equals that of `analyse`
    with the same seed, as far as evaluations do not depend on the batch. With `seconds` all
    searches together have that time. `on_step` is called before each batch; an exception ends the
    searches.
    """
    name = evaluator if isinstance(evaluator, str) else None
    running = RunningSearch(positions, name, num_simulations, seeds, root, seconds, **settings)
    while not running.finished:
        on_step()
        observations = running.gather()
        if not isinstance(evaluator, str) and len(observations) > 0:
            running.absorb(*evaluate_checked(evaluator, positions[0].game, observations))
    return running.results()


class RunningSearch:
    """Searches in steps, for callers that evaluate the leaves themselves; see search_many.

    With an evaluator of the core each step is a `gather` that returns no leaves. With None,
    `absorb` takes the evaluations of the leaves that `gather` returns. The clock starts here: a
    timed search ends at the first step after its time, or earlier if its root is proven or its
    memory is full. It runs at least one simulation.
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
            num_simulations = MAX_SIMULATIONS
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
        """Searches until leaves need evaluation. Returns their observations, uint8 [B, N]; B may
        be 0."""
        if self._deadline is not None:
            self._batch.stop(only_solved=time.monotonic() < self._deadline)
        if self._has_evaluator:
            self._batch.run(LEAVES_AT_ONCE)
            return NO_LEAVES
        return self._batch.gather()

    def absorb(self, logits_BA: Rows, outcomes_BO: Rows) -> None:
        """Backs up the evaluations of all leaves of the last gather."""
        self._batch.absorb(logits_BA, outcomes_BO)

    def stop(self) -> None:
        """Starts no further simulations; each search has at least one. Not for Gumbel roots."""
        self._batch.stop()

    def results(self) -> list[RootResult]:
        """The results, in the order of the positions."""
        return self._batch.results()


def refuse_unclear_budget(
    num_simulations: int | None, seconds: float | None, root: RootName
) -> None:
    """Raises unless exactly one budget is given and the root supports it."""
    if (num_simulations is None) == (seconds is None):
        raise BadText("give either num_simulations or seconds")
    if seconds is None:
        if root == "gumbel" and (num_simulations or 0) > MAX_GUMBEL_SIMULATIONS:
            raise BadText(
                f"root=gumbel takes at most {MAX_GUMBEL_SIMULATIONS} simulations, got "
                f"{num_simulations}; use fewer, or root=puct"
            )
        return
    if not (math.isfinite(seconds) and seconds > 0):
        raise BadText(f"seconds must be a finite number above 0, got {seconds}")
    if root == "gumbel":
        raise Unsupported(
            "root=gumbel needs a fixed number of simulations for sequential halving, so it takes "
            "no seconds; give num_simulations, or use root=puct"
        )
