"""Runs learn: an end-to-end test of signs and views."""

import numpy as np
import pytest

import zerofleet as zf
from zerofleet import metrics, nets
from zerofleet.infer import make_evaluator

SMALL = [
    "run.num_threads=2",
    "train.checkpoint_every_minutes=null",
    "train.keep_checkpoints=1",
    "rating.interval_minutes=0",
    "rating.final_games=0",
]


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))


def chosen(position, evaluator, num_simulations):
    """Without proofs and with few simulations, so that it is the network that knows."""
    found = zf.search.analyse(
        position, evaluator, num_simulations=num_simulations, prove=False, seed=1
    )
    return found.best_action


def num_lost_lines(game, evaluator, seat, num_simulations=12):
    """Games lost out of all that an opponent can play against the evaluator in that seat."""
    lost = total = 0
    waiting = [game.new_position()]
    while waiting:
        position = waiting.pop()
        if position.to_move == zf.OVER:
            total += 1
            lost += position.rewards()[seat] < 0
        elif position.to_move == seat:
            position.play(chosen(position, evaluator, num_simulations))
            waiting.append(position)
        else:
            for action in position.legal_actions():
                after = position.copy()
                after.play(action)
                waiting.append(after)
    assert total > 5
    return lost


def test_tic_tac_toe_is_learnt_from_nothing_to_no_lost_game_in_either_seat():
    game = zf.games.get("gomoku", size=3, line=3)
    untrained = make_evaluator(nets.build(game, "tiny").eval(), device="cpu")
    assert num_lost_lines(game, untrained, 0) + num_lost_lines(game, untrained, 1) > 0
    zf.train("tictactoe", preset="fast", run="ttt", steps=1500, settings=SMALL)
    trained = zf.load("ttt")
    assert num_lost_lines(game, trained, 0) == 0
    assert num_lost_lines(game, trained, 1) == 0


@pytest.mark.long
@pytest.mark.parametrize(
    ("game", "options", "minutes"),
    [
        ("connect4", {}, 2),
        ("gomoku", {"size": 7, "line": 4}, 3),
        ("beastybar", {}, 1.5),
        ("backgammon", {"checkers": 3}, 2),
    ],
)
def test_every_games_loss_falls_and_its_own_start_is_beaten(game, options, minutes, tmp_path):
    played = zf.games.get(game, **options)
    zf.train(game, preset="fast", run="r", minutes=minutes, settings=SMALL, **options)
    records = [
        record
        for record in metrics.read(tmp_path / "r")
        if record["kind"] == "train" and record["loss"] is not None
    ]
    early, late = records[: len(records) // 4], records[-(len(records) // 4) :]
    mean = {
        name: [float(np.mean([each[name] for each in part])) for part in (early, late)]
        for name in ("loss", "loss/outcome")
    }
    assert mean["loss"][1] < mean["loss"][0]
    match = zf.arena.match(played, "run:r,sims=16", "run:r@0,sims=16", num_games=100)
    assert match.interval[0] > 0.5, str(match)
