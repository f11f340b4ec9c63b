"""Searches one position."""

from typing import Unpack

from zerofleet._core import Position, Search
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
    chosen = {**FOR_PLAY, **settings, "num_simulations": num_simulations, "root": root}
    if isinstance(evaluator, str):
        search = Search(position, chosen, seed, evaluator)
        while not search.finished:
            search.run(LEAVES_AT_ONCE)
    else:
        search = Search(position, chosen, seed, None)
        while not search.finished:
            observations = search.gather()
            if len(observations) > 0:
                search.absorb(*evaluate_checked(evaluator, position.game, observations))
    return Analysis.of(position, search.result())
