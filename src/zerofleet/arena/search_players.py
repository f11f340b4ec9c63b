"""Players that search: with random playouts, or with a network; and a network's policy alone."""

from collections.abc import Sequence

import numpy as np

from zerofleet._core import RootResult
from zerofleet.arena.player import Player
from zerofleet.games import Position
from zerofleet.search import (
    Analysis,
    CoreEvaluatorName,
    Evaluate,
    RootName,
    analyse,
    search_many,
)


class SearchPlayer(Player):
    """Plays the best action of a search. The searches of all positions go on together."""

    def __init__(
        self,
        name: str,
        evaluator: CoreEvaluatorName | Evaluate,
        num_simulations: int,
        root: RootName = "puct",
    ) -> None:
        self.name = name
        self._evaluator = evaluator
        self._num_simulations = num_simulations
        self._root = root

    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        choices = [position.legal_actions()[0] for position in positions]
        open_at = [at for at, position in enumerate(positions) if len(position.legal_actions()) > 1]
        if open_at:
            found = self._search([positions[at] for at in open_at], [seeds[at] for at in open_at])
            for at, result in zip(open_at, found, strict=True):
                choices[at] = result.best_action
        return choices

    def _search(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[RootResult]:
        return search_many(positions, self._evaluator, self._num_simulations, seeds, self._root)

    def analyse(self, position: Position, seed: int = 1) -> Analysis:
        return analyse(position, self._evaluator, self._num_simulations, seed, self._root)


class PolicyPlayer(Player):
    """Plays the action that a network's policy likes best, without search."""

    def __init__(self, name: str, evaluate: Evaluate) -> None:
        self.name = name
        self._evaluate = evaluate

    # B positions, N bytes of an observation, A actions.
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        rows_BN = np.stack([position.observe(position.to_move) for position in positions])
        logits_BA, _ = self._evaluate(rows_BN)
        choices = []
        for position, logits_A in zip(positions, logits_BA, strict=True):
            legal = position.legal_actions()
            choices.append(legal[int(np.argmax(logits_A[legal]))])
        return choices
