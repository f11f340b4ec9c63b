"""The straight lines of a board, which Connect Four and Gomoku are won by."""

import numpy as np
from numpy.typing import NDArray


def lines_of(shape: tuple[int, int], length: int) -> NDArray[np.int64]:
    """The cells of every straight line of this length on a board, [L, length]."""
    lines = []
    for row, column in np.ndindex(*shape):
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            rows = row + down * np.arange(length)
            columns = column + right * np.arange(length)
            if rows[-1] < shape[0] and 0 <= columns[-1] < shape[1]:
                lines.append(rows * shape[1] + columns)
    return np.array(lines)
