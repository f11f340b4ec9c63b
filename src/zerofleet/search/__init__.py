"""Search of single positions, for play and analysis.

analysis = zf.search.analyse(position, evaluator="playout", num_simulations=2000)   # or seconds=2
position.play(analysis.best_action)
"""

from zerofleet.search.analyse import RunningSearch, analyse, search_many
from zerofleet.search.analysis import Analysis
from zerofleet.search.evaluate import CoreEvaluatorName, Evaluate
from zerofleet.search.settings import OpponentNodesName, RootName, SearchSettings

__all__ = [
    "Analysis",
    "CoreEvaluatorName",
    "Evaluate",
    "OpponentNodesName",
    "RootName",
    "RunningSearch",
    "SearchSettings",
    "analyse",
    "search_many",
]
