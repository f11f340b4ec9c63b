"""bench/solve: which moves count as found and as lost, and which positions are asked, by hand."""

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


@pytest.mark.parametrize(("mine", "theirs", "wins"), [([6], [1], 27 / 36), ([1], [6], 1)])
def test_a_bear_off_is_that_of_the_player_about_to_roll(
    mine: list[int], theirs: list[int], wins: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """27 of 36 rolls bear off a checker on the six point; any roll does from the ace point."""
    monkeypatch.setattr(sys, "path", [str(SOLVE), *sys.path])
    bearoff = importlib.import_module("backgammon").bearoff
    position = bearoff(zf.games.get("backgammon"), mine, theirs)
    assert zf.solve.value(position) == pytest.approx([0, 0, wins, 1 - wins, 0, 0])


def test_each_side_of_a_match_in_beasty_bar_has_its_simulations(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "path", [str(SOLVE), *sys.path])
    main = importlib.import_module("beastybar").main
    command = ["beastybar", "match", "prove", "bare", "--games", "4", "--no-record", "--sims"]
    for given, sims in ((["1"], "[1, 1]"), (["1", "2"], "[1, 2]")):
        monkeypatch.setattr(sys, "argv", [*command, *given])
        main()
        assert f"'sims': {sims}" in capsys.readouterr().out
    monkeypatch.setattr(sys, "argv", [*command, "1", "2", "3"])
    with pytest.raises(SystemExit):
        main()
    assert "one for each side" in capsys.readouterr().err


@pytest.mark.parametrize("errs", [False, True])
def test_a_run_of_tic_tac_toe_is_judged_by_value_and_move(
    errs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X wins with c1 alone: elsewhere O completes the lowest row."""
    monkeypatch.setattr(sys, "path", [str(SOLVE), *sys.path])
    trained = importlib.import_module("trained")
    assert len(trained.all_positions()) == 5478 - 958  # that can come up, and of those over
    position = trained.GAME.from_text("a3 a1 b2 b1")
    action = position.action_from_text("a2" if errs else "c1")

    def evaluate(rows_BN: NDArray[np.uint8]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        logits_BA = np.zeros((len(rows_BN), 9))
        logits_BA[:, action] = 1
        return logits_BA, np.array([[0.0, 0.0, 1.0] if errs else [1.0, 0.0, 0.0]] * len(rows_BN))

    found = trained.judge(evaluate, [position])
    assert found == {
        "error": 2 if errs else 0,
        "decisions_that_matter": 1,
        "share_that_lose": 1 if errs else 0,
    }
