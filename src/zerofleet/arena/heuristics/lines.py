"""The heuristic of Connect Four and Gomoku: win, block, else extend own lines and break others.

Every line that can still win (stones of one side only) adds weight to its empty cells, more the
fuller it is. The player takes the legal cell of largest weight; the centre, then the seed, break
ties.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.player import Player
from zerofleet.games import Game, Position
from zerofleet.games.lines import lines_of

OWN_LINE, OTHER_LINE = 2.0, 1.0
"""An own line counts more than an equally full one of the opponent: the player is to move."""
STEP = 10.0
"""Factor per stone in a line; large enough that lines that lack one stone dominate."""
GIVES_A_WIN = -1e12
"""For a Connect Four move that lets the opponent win on top of it."""


class LinePlayer(Player):
    name = "heuristic"

    def __init__(self, game: Game) -> None:
        self._drops = game.name == "connect4"
        shape = (6, 7) if self._drops else (int(game.options["size"]),) * 2
        self._line = 4 if self._drops else int(game.options["line"])
        self._lines_LK = lines_of(shape, self._line)
        self._shape = shape
        self._cells_LC = np.zeros((len(self._lines_LK), shape[0] * shape[1]), np.float32)
        np.put_along_axis(self._cells_LC, self._lines_LK, 1, axis=1)
        rows, columns = np.indices(shape)
        from_centre = np.hypot(rows - (shape[0] - 1) / 2, columns - (shape[1] - 1) / 2).ravel()
        self._centre_C = 0.1 * (1 - from_centre / (1 + from_centre.max()))

    # B positions, C cells, L lines, K cells of a line.
    def choose_many(self, positions: Sequence[Position], seeds: Sequence[int]) -> list[int]:
        cells_BC = np.stack([position.observe(position.to_move)[:-1] for position in positions])
        weights_BC = self._weights(cells_BC)
        if self._drops:
            # A valuable cell on top of a move counts against the move.
            above_BC = np.roll(weights_BC, self._shape[1], axis=1)
            above_BC[:, : self._shape[1]] = 0
            decisive = OTHER_LINE * STEP ** (self._line - 1)
            weights_BC += np.where((above_BC >= decisive) & (weights_BC < decisive), GIVES_A_WIN, 0)
        choices: list[int] = []
        for position, weights_C, seed in zip(positions, weights_BC, seeds, strict=True):
            legal = np.array(position.legal_actions())
            cells = self._landing(cells_BC[len(choices)], legal) if self._drops else legal
            ties = 0.01 * np.random.default_rng(seed).random(len(legal))
            choices.append(int(legal[np.argmax(weights_C[cells] + ties)]))
        return choices

    def _weights(self, cells_BC: NDArray[np.uint8]) -> NDArray[np.float64]:
        """The weight of each cell as a move of the player to move."""
        stones_BLK = cells_BC[:, self._lines_LK]
        own_BL = (stones_BLK == 1).sum(axis=2)
        other_BL = (stones_BLK == 2).sum(axis=2)
        weight_BL = np.where(other_BL == 0, OWN_LINE * STEP**own_BL, 0.0)
        weight_BL += np.where((own_BL == 0) & (other_BL > 0), OTHER_LINE * STEP**other_BL, 0.0)
        weights_BC: NDArray[np.float64] = weight_BL @ self._cells_LC
        return np.where(cells_BC == 0, weights_BC + self._centre_C, 0.0)

    def _landing(self, cells_C: NDArray[np.uint8], columns: NDArray[np.int64]) -> NDArray[np.int64]:
        """The cells where discs dropped into columns land; rows count from the top."""
        empty = (cells_C.reshape(self._shape) == 0).sum(axis=0)
        landing: NDArray[np.int64] = (empty[columns] - 1) * self._shape[1] + columns
        return landing
