"""A new run can begin with existing weights, if they fit."""

import shutil

import numpy as np
import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.runs.folder import find
from zerofleet.weights import WeightsStore


@pytest.fixture(scope="module", autouse=True)
def first_run(tmp_path_factory):
    """A run called first, in a folder of runs that is this module's."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_RUNS", str(tmp_path_factory.mktemp("runs")))
        tiny_run("first")
        yield


def tiny_run(name, steps=5, start_from=None, settings=()):
    return zf.train(
        "tictactoe",
        run=name,
        steps=steps,
        start_from=start_from,
        settings=[*TINY_RUN, *settings],
    )


def weights_of(name, step):
    return WeightsStore(find(name).weights).load(step).tensors


def test_a_run_begins_with_the_weights_of_another():
    tiny_run("second", start_from="run:first", settings=["run.seed=9"])
    trained, begun = weights_of("first", 5), weights_of("second", 0)
    assert all(np.array_equal(trained[name], begun[name]) for name in trained)
    assert any(not np.array_equal(trained[name], weights_of("second", 5)[name]) for name in trained)


def test_a_run_killed_before_its_first_checkpoint_still_begins_with_them():
    run = tiny_run("third", steps=1, start_from="run:first@5")
    shutil.rmtree(run.checkpoints)
    for path in run.weights.glob("000000001.*"):
        path.unlink()
    tiny_run("third", steps=1, settings=["train.learning_rate=1e-12"])
    begun, after = weights_of("first", 5), weights_of("third", 1)
    learnt = [name for name in begun if "running" not in name and "num_batches" not in name]
    assert all(np.allclose(begun[name], after[name], atol=1e-6) for name in learnt)


def test_weights_of_another_network_are_refused_with_the_settings_that_fit():
    other = ["network.options={channels: 8}"]
    with pytest.raises(Inconsistent, match=r"channels=32 .*network\.preset=tiny .*channels: 32"):
        tiny_run("fourth", start_from="run:first", settings=other)
    with pytest.raises(Unsupported, match="unknown run fourth"):
        find("fourth")


@pytest.mark.parametrize("source", ["first", "run:", "run:first@x", "file:"])
def test_a_source_that_names_no_weights_is_refused(source):
    with pytest.raises(BadText, match=r"write best, run:NAME\[@STEP\] or file:PATH"):
        tiny_run("fourth", start_from=source)


def test_a_game_without_shipped_weights_says_which_have_some():
    with pytest.raises(Unsupported, match="there are some for: backgammon"):
        tiny_run("fourth", start_from="best")


def test_an_existing_run_is_not_started_again():
    with pytest.raises(Inconsistent, match="run first already exists"):
        tiny_run("first", start_from="run:first")
