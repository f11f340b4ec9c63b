"""The network that plays the opponent's seat, beside a worker's own."""

from collections.abc import Callable

from zerofleet.infer import Pipeline
from zerofleet.weights import Weights

Pick = Callable[[], Weights | None]
"""Other weights for the opponent; None where it keeps what it has."""


class Opponent:
    """Belongs to one worker, and to its thread."""

    def __init__(self, pipeline: Pipeline, pick: Pick | None = None) -> None:
        """Without `pick` its weights never change."""
        self.pipeline = pipeline
        self._pick = pick
        self._picked_at = -1

    def follow(self, version: int) -> None:
        """Picks other weights, once for each version of the worker's own."""
        if self._pick is None or version == self._picked_at:
            return
        self._picked_at = version
        if (found := self._pick()) is not None:
            self.pipeline.load(found.tensors, found.version)
