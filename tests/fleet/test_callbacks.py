"""A caller of zf.train follows a run by callbacks, can end it, and adds loss terms to it."""

import pytest
from tiny_runs import TINY_RUN

import zerofleet as zf
from zerofleet import metrics
from zerofleet.errors import Unsupported
from zerofleet.fleet import callbacks
from zerofleet.fleet.callbacks import ForSeconds
from zerofleet.runs.folder import find
from zerofleet.weights import WeightsStore

SETTINGS = [*TINY_RUN, "train.publish_every_steps=10", "run.evaluator=torch"]
DETERMINISTIC = [*SETTINGS, "run.deterministic=true"]


@pytest.fixture(autouse=True)
def runs_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("ZEROFLEET_RUNS", str(tmp_path))
    return tmp_path


def final_weights(name):
    weights, _ = WeightsStore(find(name).weights).load_newest()
    assert weights is not None
    return weights


def same_weights(first, second):
    first, second = final_weights(first), final_weights(second)
    assert first.version == second.version
    return all((first.tensors[name] == second.tensors[name]).all() for name in first.tensors)


@pytest.mark.parametrize("settings", [SETTINGS, DETERMINISTIC], ids=["concurrent", "deterministic"])
def test_every_step_and_every_version_is_reported_in_order(settings):
    steps, versions = [], []

    def on_version(info):
        observation = zf.games.get("gomoku", size=3, line=3).new_position().observe(0)
        logits, _ = info.evaluator(observation[None])
        assert logits.shape == (1, 9)
        assert info.evaluator.version == info.version == steps[-1].step
        versions.append((info.version, info.step, info.run.name))

    zf.train(
        "tictactoe",
        run="r",
        steps=25,
        seed=7,
        device="cpu",
        settings=settings,
        on_step=steps.append,
        on_version=on_version,
    )
    assert [info.step for info in steps] == list(range(1, 26))
    assert [info.num_samples for info in steps] == [32 * step for step in range(1, 26)]
    assert all(info.num_games > 0 and info.learning_rate > 0 for info in steps)
    assert {"loss", "loss/policy", "loss/outcome"} <= steps[0].values.keys()
    assert versions == [(10, 10, "r"), (20, 20, "r")]
    run = find("r")
    assert "seed: 7" in run.config_path.read_text()
    records = [each for each in metrics.read(run.folder) if each["kind"] == "train"]
    assert records[-1]["step"] == 25  # what callbacks received is recorded too


@pytest.mark.parametrize("settings", [SETTINGS, DETERMINISTIC], ids=["concurrent", "deterministic"])
def test_what_a_callback_raises_comes_out_after_a_checkpoint_of_that_step(settings):
    def on_step(info):
        if info.step == 7:
            raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine") as raised:
        zf.train("tictactoe", run="r", steps=30, settings=settings, on_step=on_step)
    assert raised.traceback[-1].name == "on_step"
    assert final_weights("r").version == 7


def test_a_deterministic_run_with_callbacks_gives_the_same_result_even_interrupted_mid_round():
    def on_step(info):
        if info.step == 7:
            raise ZeroDivisionError

    def broken(on_step):
        callbacks = {"on_step": on_step, "on_version": lambda info: None}
        zf.train("tictactoe", run="broken", steps=12, settings=DETERMINISTIC, **callbacks)

    zf.train("tictactoe", run="whole", steps=12, settings=DETERMINISTIC)
    with pytest.raises(ZeroDivisionError):
        broken(on_step)
    broken(lambda info: None)
    assert same_weights("whole", "broken")


def test_false_from_on_step_ends_the_run_like_a_stop_condition(capfd):
    rated = ["rating.final_games=2", "rating.opponents=[random]", "rating.simulations=2"]
    run = zf.train(
        "tictactoe",
        run="r",
        steps=1000,
        settings=[*SETTINGS, *rated],
        on_step=lambda info: info.step < 5,
    )
    assert final_weights("r").version == 5
    assert [each["kind"] for each in metrics.read(run.folder)].count("rating") == 1


# ---- loss terms


def half_square(output, batch):
    return (output.policy_logits_BA.float() ** 2).mean() / 2


def test_a_loss_term_is_weighed_shown_by_name_and_kept_as_a_setting():
    found = []
    run = zf.train(
        "tictactoe",
        run="r",
        steps=3,
        settings=[*SETTINGS, "train.loss_terms.logits=10"],
        loss_terms={"logits": half_square},
        on_step=found.append,
    )
    for info in found:
        values = info.values
        auxiliary = 0.15 * sum(
            value
            for name, value in values.items()
            if name.startswith("loss/")
            and name not in ("loss/policy", "loss/outcome", "loss/logits")
        )
        expected = values["loss/policy"] + values["loss/outcome"] + auxiliary
        assert values["loss"] == pytest.approx(expected + 10 * values["loss/logits"], rel=1e-5)
    assert [each for each in metrics.read(run.folder) if "loss/logits" in each]
    assert "logits: 10" in run.config_path.read_text()


def test_a_run_whose_loss_term_is_not_registered_says_which_and_how(runs_folder):
    settings = [*SETTINGS, "train.loss_terms.lost=1"]
    with pytest.raises(Unsupported, match=r"unknown loss term lost; .*--plugin FILE\.py"):
        zf.train("tictactoe", run="r", steps=3, settings=settings)
    assert not (runs_folder / "r").exists()


def test_a_measured_run_ends_so_long_after_its_first_step_however_late_that_was(monkeypatch):
    times_s = iter([1300.0, 1310.0, 1319.9, 1320.0])
    monkeypatch.setattr(callbacks.time, "monotonic", lambda: next(times_s))
    clock = ForSeconds(20)
    assert [clock(None) for _ in range(3)] == [True, True, True]
    assert not clock.is_over
    assert clock(None) is False
    assert clock.is_over
