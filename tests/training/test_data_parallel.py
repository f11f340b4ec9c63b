"""Several real processes train one network as one would, and none waits for one that is gone."""

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.errors import Inconsistent
from zerofleet.replay import ReplayBuffer, Sampler
from zerofleet.training import NotFinite, ProcessLost, Trainer, train_together

SETTINGS = TrainConfig(learning_rate=3e-3, warmup_steps=5, schedule="cosine")
CONNECT4 = zf.games.get("connect4")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


def new_trainer(game):
    torch.manual_seed(1)
    return Trainer(nets.build(game, "tiny"), SETTINGS, torch.device("cpu"))


def together(trainer, num_processes=2):
    return train_together(trainer, ["cpu"] * num_processes, num_threads=1, seed=1)


def batches_of(game, num_batches, batch_size=48):
    # So many games that hardly an action is met only where it is forced: its gradients would be
    # rounding alone, of which Adam makes whole steps.
    buffer = ReplayBuffer(game, 10_000)
    for data in zf.selfplay.play(game, "hash", num_episodes=256, num_simulations=4, num_threads=0):
        buffer.add(pack_rows(game, [zf.games.Episode.decode(data)]))
    sampler = Sampler(buffer, game, ReplayConfig(), seed=1)
    return [sampler.sample(batch_size) for _ in range(num_batches)]


def twice(batch):
    """The same rows again after the last."""
    fields = ("rows_B", "final_observation_BN", "symmetry_B")
    return dataclasses.replace(
        batch, **{name: np.concatenate([getattr(batch, name)] * 2) for name in fields}
    )


def trained(trainer, batches):
    """What each step reports; a decaying learning rate is one more thing to agree on."""
    for number, batch in enumerate(batches):
        trainer.step(batch, number / len(batches))
    return trainer.take_reports()


def assert_same_course(reports, expected, trainer, of_one, weights_differ_by=1e-3):
    for report, one in zip(reports, expected, strict=True):
        assert report.values == pytest.approx(one.values, abs=1e-4)
        assert report.learning_rate == one.learning_rate
    for name, value in of_one.ema.items():
        gap = (trainer.ema[name].float() - value.float()).norm()
        assert gap <= weights_differ_by * (1 + value.float().norm()), name


# Their networks have no batch norm. In both, only some rows have a policy, and not as many in one
# half of a batch as in the other: a mean of the halves' means would be another number.
@pytest.mark.parametrize("name", ["backgammon", "beastybar"])
def test_two_processes_learn_what_one_does_from_the_same_batches(name):
    game = zf.games.get(name)
    batches = batches_of(game, 20)
    with_policy = [batch.rows_B["has_policy"] for batch in batches]
    assert any(each[:24].sum() != each[24:].sum() for each in with_policy)
    one, two = new_trainer(game), new_trainer(game)
    expected = trained(one, batches)
    with together(two):
        reports = trained(two, batches)
    assert_same_course(reports, expected, two, one)
    # They agree to 1e-3, after having moved a hundred times as far.
    begun = new_trainer(game).ema
    moved = [(two.ema[name] - each).norm() / (1 + each.norm()) for name, each in begun.items()]
    assert max(moved) > 0.1


def test_a_batch_norm_sees_its_own_rows_and_plays_with_the_mean_of_all():
    batches = batches_of(CONNECT4, 5)
    one, two = new_trainer(CONNECT4), new_trainer(CONNECT4)
    # Where both processes have the same rows, each does what one process does with them alone.
    expected = trained(one, batches)
    with together(two):
        reports = trained(two, [twice(batch) for batch in batches])
    assert_same_course(reports, expected, two, one)


def test_others_can_join_a_trainer_at_any_step_and_leave_it():
    game = zf.games.get("backgammon")
    batches = batches_of(game, 9)
    one, three = new_trainer(game), new_trainer(game)
    for batch in batches:
        one.step(batch)
    for batch in batches[:3]:
        three.step(batch)
    with together(three, num_processes=3):
        for batch in batches[3:6]:
            three.step(batch)
    for batch in batches[6:]:
        three.step(batch)
    assert_same_course(three.take_reports(), one.take_reports(), three, one)


def test_a_process_that_is_killed_is_named_and_the_weights_are_those_of_the_last_step():
    batch, *_ = batches_of(CONNECT4, 1)
    trainer = new_trainer(CONNECT4)
    with together(trainer):
        with pytest.raises(Inconsistent, match="47 rows cannot be split evenly over 2 processes"):
            trainer.step(batches_of(CONNECT4, 1, batch_size=47)[0])
        trainer.step(batch)
        kept = [value.clone() for value in trainer.network.parameters()]
        trainer.group.peers[0].process.kill()
        with pytest.raises(
            ProcessLost, match=r"^training process 1 \(cpu\) was killed by signal 9"
        ):
            trainer.step(batch)
    assert trainer.step_count == 1
    assert all(map(torch.equal, trainer.network.parameters(), kept))


def test_a_process_that_hangs_is_not_waited_for_forever(monkeypatch):
    monkeypatch.setattr("zerofleet.training.data_parallel.STEP_TIMEOUT_S", 2.0)
    monkeypatch.setattr("zerofleet.training.data_parallel.STOP_TIMEOUT_S", 0.1)
    monkeypatch.setattr("zerofleet.training.data_parallel.EXIT_STATUS_TIMEOUT_S", 0.1)
    batch, *_ = batches_of(CONNECT4, 1)
    trainer = new_trainer(CONNECT4)
    with together(trainer):
        other = trainer.group.peers[0].process
        other.send_signal(signal.SIGSTOP)
        with pytest.raises(ProcessLost, match=r"^the training processes no longer"):
            trainer.step(batch)
    assert other.poll() == -signal.SIGKILL


def test_an_exception_in_another_process_is_reported():
    batch, *_ = batches_of(CONNECT4, 1)
    trainer = new_trainer(CONNECT4)
    with together(trainer):
        trainer.group.peers[0].send("no step")
        message = r"^training process 1 \(cpu\) ended with status 1: .*JSONDecodeError: "
        with pytest.raises(ProcessLost, match=message):
            trainer.step(batch)


def test_a_process_that_cannot_start_is_an_error_at_once():
    starting = train_together(new_trainer(CONNECT4), ["cpu", "abacus"], num_threads=1, seed=1)
    with pytest.raises(ProcessLost, match=r"^training process 1 \(abacus\) ended with status 1: "):
        starting.__enter__()


def test_a_number_that_is_not_finite_in_one_share_stops_all():
    batch, *_ = batches_of(CONNECT4, 1)
    batch.rows_B["search_outcomes"][:-1] = 0
    batch.rows_B["search_outcomes"][-1] = 1
    only_where_searched = dataclasses.replace(batch.format, q_ratio=np.nan)
    batch = dataclasses.replace(batch, format=only_where_searched)
    trainer = new_trainer(CONNECT4)
    with together(trainer):
        other = trainer.group.peers[0].process
        with pytest.raises(NotFinite, match=r"step 1: loss.*weights of step 0 are kept"):
            trainer.step(batch)
        assert other.wait(timeout=30) == 1


ENDLESS = """
import time, torch, zerofleet as zf
from zerofleet import nets, training
from zerofleet.config import TrainConfig
network = nets.build(zf.games.get("connect4"), "tiny")
trainer = training.Trainer(network, TrainConfig(), torch.device("cpu"))
with training.train_together(trainer, ["cpu", "cpu"], num_threads=1, seed=1):
    print(trainer.group.peers[0].process.pid, flush=True)
    time.sleep(600)
"""


def is_running(pid):
    """Whether it runs and is not a zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_when_process_0_is_killed_the_others_end_by_themselves():
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS], stdout=subprocess.PIPE, text=True
    ) as process:
        pid = int(process.stdout.readline())
        assert is_running(pid)
        os.kill(process.pid, signal.SIGKILL)
    give_up_s = time.monotonic() + 30
    while is_running(pid) and time.monotonic() < give_up_s:
        time.sleep(0.05)
    assert not is_running(pid)
