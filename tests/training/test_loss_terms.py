"""Custom loss terms: computed from outputs and batch, minimised; wrong ones are refused."""

from pathlib import Path

import pytest
import torch

import zerofleet as zf
from zerofleet import nets, plugins
from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.errors import BadText, Inconsistent
from zerofleet.replay import ReplayBuffer, Sampler
from zerofleet.training import Trainer, register_loss_term, train_together

GAME = zf.games.get("connect4")
EXAMPLES = Path(__file__).parent.parent.parent / "examples"


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def batch():
    buffer = ReplayBuffer(GAME, 1000)
    for data in zf.selfplay.play(GAME, "hash", num_episodes=8, num_simulations=4, num_threads=0):
        buffer.add(pack_rows(GAME, [zf.games.Episode.decode(data)]))
    return Sampler(buffer, GAME, ReplayConfig(), seed=1).sample(32)


def trainer_with(preset="tiny", **weights):
    torch.manual_seed(1)
    settings = TrainConfig(loss_terms=weights, warmup_steps=0, learning_rate=3e-3)
    return Trainer(nets.build(GAME, preset), settings, torch.device("cpu"))


def test_a_term_gets_the_outputs_and_the_batch_and_is_minimised(batch):
    @register_loss_term("far_left")
    def far_left(output, rows):
        assert len(output.policy_logits_BA) == len(rows.observations_BN) == 32
        return (output.policy_logits_BA[:, 0].float() - 3).square().mean()

    last = {}
    for weight in (0, 10):
        trainer = trainer_with(far_left=weight)
        for _ in range(15):
            trainer.step(batch)
        last[weight] = trainer.take_reports()[-1].values["loss/far_left"]
    assert last[10] < last[0] / 4


@pytest.mark.parametrize(
    ("term", "got"),
    [
        (lambda output, rows: output.policy_logits_BA.mean(dim=1), r"shape \[32\]"),
        (lambda output, rows: 1.0, "<class 'float'>"),
    ],
)
def test_a_term_that_is_no_scalar_is_refused_by_name(batch, term, got):
    register_loss_term("wrong")(term)
    with pytest.raises(BadText, match=f"loss term wrong must return a scalar tensor .*{got}"):
        trainer_with(wrong=1).step(batch)


def test_a_term_with_the_name_of_an_auxiliary_head_is_refused(batch):
    register_loss_term("reply")(lambda output, rows: output.policy_logits_BA.mean())
    with pytest.raises(Inconsistent, match="loss term reply: the network has an auxiliary head"):
        trainer_with(reply=1).step(batch)


@pytest.mark.parametrize("name", ["policy", "outcome", "a/b", ""])
def test_names_of_existing_losses_and_invalid_names_are_refused(name):
    with pytest.raises(BadText, match="a loss term cannot be called"):
        register_loss_term(name)


@pytest.mark.long
def test_two_processes_share_a_custom_network_and_a_term_of_plugins(batch):
    for name in ("custom_network.py", "custom_loss.py"):
        plugins.load(EXAMPLES / name)
    alone, shared = (trainer_with("mlp", neg_entropy=0.5) for _ in range(2))
    for _ in range(3):
        alone.step(batch)
    with train_together(shared, ["cpu", "cpu"], num_threads=1, seed=1):
        for _ in range(3):
            shared.step(batch)
        reports = shared.take_reports()
    for report, one in zip(reports, alone.take_reports(), strict=True):
        assert report.values == pytest.approx(one.values, abs=1e-4)
