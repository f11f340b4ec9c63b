"""Players that search, with random playouts or a network, and players without search."""

from collections.abc import Sequence
from typing import Unpack

import numpy as np

from zerofleet._core import RootResult
from zerofleet.arena.player import Player
from zerofleet.games import Position
from zerofleet.search import (
    Analysis,
    CoreEvaluatorName,
    Evaluate,
    RootName,
    SearchSettings,
    search_many,
)


class SearchPlayer(Player):
    """Plays the best action of a search without exploration; see zf.search.analyse.

    With a fixed number of simulations all positions are searched concurrently. With `seconds` they
    are searched one after another, so that each gets the whole machine for its time. One that asks
    the solver needs a game that has one.
    """

    def __init__(
        self,
        name: str,
        evaluator: CoreEvaluatorName | Evaluate,
        num_simulations: int | None,
        root: RootName = "puct",
        seconds: float | None = None,
        asks_solver: bool = False,
    ) -> None:
        self.name = name
        self.seconds = seconds
        self._asks_solver = asks_solver
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

    def analyse(self, position: Position, seed: int = 1) -> Analysis:
        return self.analyse_many([position], [seed])[0]

    def analyse_many(
        self,
        positions: Sequence[Position],
        seeds: Sequence[int],
        **settings: Unpack[SearchSettings],
    ) -> list[Analysis]:
        """Analyses each position; chance may be to move."""
        found = self._search(positions, seeds, **settings)
        return [
            Analysis.of(position, result) for position, result in zip(positions, found, strict=True)
        ]

    def _search(
        self,
        positions: Sequence[Position],
        seeds: Sequence[int],
        **settings: Unpack[SearchSettings],
    ) -> list[RootResult]:
        size = len(positions) if self.seconds is None else 1
        if self._asks_solver:
            settings = {"use_endgame_solver": True, **settings}
        return [
            result
            for at in range(0, len(positions), size)
            for result in search_many(
                positions[at : at + size],
                self._evaluator,
                self._num_simulations,
                seeds[at : at + size],
                self._root,
                self.seconds,
                self.on_step,
                **settings,
            )
        ]


class PolicyPlayer(Player):
    """Plays the most likely action of a network's policy, without search."""

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
