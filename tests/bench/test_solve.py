"""bench/solve: which moves count as found and as lost, by hand."""

import importlib
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import zerofleet as zf

SOLVE = Path(__file__).parents[2] / "bench" / "solve"


@pytest.mark.parametrize(
    ("moves", "action", "kept"),
    [
        ("d5 a1 e5 c1 f5 e1", "g5", True),  # an open four
        ("d5 a1 e5 c1 f5 e1", "a9", False),  # O closes the three
        ("d5 a1 e5 b1 f5 c1 i9 d1", "g5", False),  # O completes its own line first
        ("d5 a1 e5 b1 f5 c1 g5 d1", "h5", True),  # a line
    ],
)
def test_a_move_keeps_a_win_if_every_reply_loses(
    moves: str, action: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", [str(SOLVE), *sys.path])
    keeps_win = importlib.import_module("forced_wins").keeps_win
    position = zf.games.get("gomoku", size=9).from_text(moves)
    assert keeps_win(position, position.action_from_text(action)) == kept


@pytest.mark.parametrize("errs", [False, True])
def test_a_network_is_judged_by_value_and_move(errs: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """X wins in column 2 and is lost otherwise, since O threatens column 6."""
    monkeypatch.setattr(sys, "path", [str(SOLVE), *sys.path])
    position = zf.games.get("connect4").from_text("26262613374455")
    scores = zf.solve.Connect4Solver().scores_to_move(position)
    assert [None if score is None else score > 0 for score in scores].count(True) == 1

    def evaluate(rows_BN: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        logits_BA = np.zeros((len(rows_BN), 7))
        logits_BA[:, 5 if errs else 1] = 1
        return logits_BA, np.array([[0.0, 0.0, 1.0] if errs else [1.0, 0.0, 0.0]] * len(rows_BN))

    judged = importlib.import_module("connect4").judged(evaluate, [position] * 2, [scores] * 2)
    found = judged["12 to 23 discs"]
    assert (found["positions"], found["decisions_that_matter"]) == (2, 2)
    assert found["error"] == (2 if errs else 0)
    assert found["share_that_lose"] == (1 if errs else 0)
