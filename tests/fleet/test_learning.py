"""Runs learn: an end-to-end test of signs and views."""

import numpy as np
import pytest
from lost_lines import num_lost_lines

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
