"""One position, one answer: for play and analysis.

analysis = zf.search.analyse(position, evaluator="playout", num_simulations=2000)   # or seconds=2
position.play(analysis.best_action)
"""

from zerofleet.search.analyse import RunningSearch, analyse, search_many
from zerofleet.search.analysis import Analysis
from zerofleet.search.evaluate import Evaluate
from zerofleet.search.settings import CoreEvaluatorName, RootName, SearchSettings

__all__ = [
    "Analysis",
    "CoreEvaluatorName",
    "Evaluate",
    "RootName",
    "RunningSearch",
    "SearchSettings",
    "analyse",
    "search_many",
]
