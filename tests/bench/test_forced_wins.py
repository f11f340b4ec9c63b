"""Which moves count as found in bench/solve/forced_wins.py, by hand."""

import importlib
import sys
from pathlib import Path

import pytest

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
