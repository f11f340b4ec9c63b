"""Searches one position, or many at once."""

from collections.abc import Sequence
from typing import Unpack

from zerofleet._core import Position, RootResult, SearchBatch
from zerofleet.games.own import OwnPosition, position_of
from zerofleet.search.analysis import Analysis
from zerofleet.search.evaluate import Evaluate, evaluate_checked
from zerofleet.search.settings import CoreEvaluatorName, RootName, SearchSettings

FOR_PLAY: dict[str, object] = {"gumbel_scale": 0, "fpu_reduction": 0}
"""Where analysis differs from the core's defaults, which are for self-play: no noise, and every
action gets its look early, so that no win is missed behind a small prior."""

LEAVES_AT_ONCE = 256
"""Between them Ctrl-C gets through."""


def analyse(
    position: Position | OwnPosition,
    evaluator: CoreEvaluatorName | Evaluate = "uniform",
    num_simulations: int = 800,
    seed: int = 1,
    root: RootName = "puct",
    **settings: Unpack[SearchSettings],
) -> Analysis:
    """What to play in a position that is not over, and what it is worth.

    `evaluator` judges the leaves: "uniform" (all alike, so that only the ends of games count),
    "playout" (one random game each: plain Monte Carlo tree search), "hash" (fixed arithmetic, for
    tests), or a function, see Evaluate. The same seed and the same answers give the same result.
    Where something is hidden, only what the player to move knows is used.
    """
    position = position_of(position)
    (result,) = search_many([position], evaluator, num_simulations, [seed], root, **settings)
    return Analysis.of(position, result)


def search_many(
    positions: Sequence[Position],
    evaluator: CoreEvaluatorName | Evaluate,
    num_simulations: int,
    seeds: Sequence[int],
    root: RootName = "puct",
    **settings: Unpack[SearchSettings],
) -> list[RootResult]:
    """What a search of each position finds; all are of one game, and each has its seed.

    The leaves of all searches go to the evaluator together. A position gets what `analyse` finds
    for it with its seed, as far as the evaluator's answers do not depend on the batch.
    """
    chosen = {**FOR_PLAY, **settings, "num_simulations": num_simulations, "root": root}
    if isinstance(evaluator, str):
        batch = SearchBatch(positions, chosen, seeds, evaluator)
        while not batch.finished:
            batch.run(LEAVES_AT_ONCE)
    else:
        batch = SearchBatch(positions, chosen, seeds, None)
        game = positions[0].game
        while not batch.finished:
            observations = batch.gather()
            if len(observations) > 0:
                batch.absorb(*evaluate_checked(evaluator, game, observations))
    return batch.results()
