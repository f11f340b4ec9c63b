"""Runs unpacked without games or checkpoints, and the weights that a run keeps."""

from contextlib import closing

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.config import ReplayConfig
from zerofleet.errors import Inconsistent, ZerofleetError
from zerofleet.replay import Replay
from zerofleet.runs.packs import pack, unpack
from zerofleet.weights import WeightsStore

SMALL = [*TINY_RUN, "train.checkpoint_every_steps=10", "train.keep_checkpoints=1"]


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path / "runs"))


def carried(run, tmp_path, without):
    """The run as it arrives elsewhere, under another name, without the files of these folders."""
    left_out = [path for folder in without for path in folder.iterdir()]
    return unpack(pack(run, tmp_path / "packs", leave_out=left_out)[0], "carried")


def test_without_games_it_resumes_with_a_new_buffer_and_keeps_counting(tmp_path, capsys):
    run = zf.train("tictactoe", run="r", steps=30, settings=SMALL)
    episodes = [played.episode.encode() for played in zf.runs.games("r")]
    run = unpack(pack(run, tmp_path / "packs", without_games=True)[0], "carried")
    assert list(zf.runs.games("carried")) == []
    with closing(Replay(run.episodes, run.game(), ReplayConfig(), seed=1)) as replay:
        assert replay.log.position.num_episodes == len(episodes)
        assert replay.accept(episodes) == 0  # none is taken twice
        assert replay.log.marks()  # what their senders may forget
    zf.arena.match(run.game(), "run:carried,sims=4", "random", num_games=4)
    capsys.readouterr()
    zf.train("tictactoe", run="carried", steps=40)
    said = capsys.readouterr().out
    assert "earlier rows are missing; training waits until there are 200 again" in said
    assert "resuming at step 30" in said
    first = zf.runs.list()[0]
    assert (first.name, first.num_steps) == ("carried", 40)
    before = next(each for each in zf.runs.list() if each.name == "r")
    assert first.num_games >= before.num_games + 200 // 9  # a game has at most nine positions


def test_without_checkpoints_it_is_played_and_rated_but_not_resumed(tmp_path):
    run = zf.train("tictactoe", run="r", steps=10, settings=SMALL)
    run = carried(run, tmp_path, [run.checkpoints])
    zf.arena.match(run.game(), "run:carried,sims=4", "random", num_games=4)
    before = run.config_path.read_bytes()
    with pytest.raises(Inconsistent, match="runs/carried has weights of step 10 but no checkpoint"):
        zf.train("tictactoe", run="carried", steps=20)
    assert run.config_path.read_bytes() == before


def test_a_trained_run_whose_checkpoints_are_gone_begins_again_only_where_asked_to(capsys):
    run = zf.train("tictactoe", run="r", steps=10, settings=SMALL)
    num_games = zf.runs.list()[0].num_games
    first = WeightsStore(run.weights).load(0).tensors
    for path in run.checkpoints.iterdir():
        path.unlink()
    with pytest.raises(Inconsistent, match=r"has weights of step 10 .* --restart"):
        zf.train("tictactoe", run="r", steps=20)
    assert WeightsStore(run.weights).versions() == [0, 10]
    capsys.readouterr()
    zf.train("tictactoe", run="r", steps=3, restart=True)
    assert "from step 0" in capsys.readouterr().out
    assert WeightsStore(run.weights).versions() == [0, 3]
    again = WeightsStore(run.weights).load(0).tensors
    assert all((again[name] == tensor).all() for name, tensor in first.items())
    assert zf.runs.list()[0].num_games >= num_games


@pytest.mark.parametrize("fault", ["checkpoint", "opponent"])
def test_a_resume_that_is_refused_leaves_the_settings_as_they_were(fault):
    run = zf.train("tictactoe", run="r", steps=10, settings=SMALL)
    before = run.config_path.read_bytes()
    settings = ["search.num_simulations=9"]
    if fault == "checkpoint":
        for path in run.checkpoints.glob("*.safetensors"):
            path.write_bytes(b"damaged")
    else:
        settings.append("rating.opponents=[nobody]")
    with pytest.raises(ZerofleetError):
        zf.train("tictactoe", run="r", steps=20, settings=settings)
    assert run.config_path.read_bytes() == before


def test_weights_of_every_checkpoint_are_kept_where_asked_for():
    run = zf.train("tictactoe", run="r", steps=30, settings=SMALL)
    assert WeightsStore(run.weights).versions() == [0, 30]
    run = zf.train(
        "tictactoe", run="all", steps=30, settings=[*SMALL, "train.keep_all_weights=true"]
    )
    assert WeightsStore(run.weights).versions() == [0, 10, 20, 30]
