"""Training steps: targets in the right view, exact resume, and no update from numbers that are not
finite."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet._core import pack_rows
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.errors import Inconsistent
from zerofleet.replay import Batch, ReplayBuffer, RowFormat, Sampler
from zerofleet.training import Checkpoint, CheckpointStore, NotFinite, Trainer, set_up_torch
from zerofleet.training.loss import PackedBatch, Unpacker, compute_losses
from zerofleet.training.trainer import Step, learning_rate

GAME = zf.games.get("connect4")
SETTINGS = TrainConfig(batch_size=64, learning_rate=3e-3, warmup_steps=5)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(1)


def batch_of(episodes, game=GAME):
    """All rows of these episodes as one batch; the value target is how the game ended."""
    buffer = ReplayBuffer(game, 10_000)
    for data in episodes:
        buffer.add(pack_rows(game, [zf.games.Episode.decode(data)]))
    rows_B, final_BN = buffer.take(buffer.slots(np.arange(len(buffer))[::-1]))
    as_it_is_B = np.zeros(len(buffer), np.int64)
    return Batch(rows_B, final_BN, as_it_is_B, RowFormat.of(game, q_ratio=0.0))


def not_finite(batch):
    """The same, but with targets that are no numbers."""
    return dataclasses.replace(batch, format=dataclasses.replace(batch.format, q_ratio=math.nan))


def stepped(trainer, batch):
    """What a step reports."""
    trainer.step(batch)
    (report,) = trainer.take_reports()
    return report


def played(game, num_episodes, num_simulations=16):
    games = zf.selfplay.play(
        game, "hash", num_episodes=num_episodes, num_simulations=num_simulations, num_threads=0
    )
    return list(games)


def new_trainer(game=GAME, settings=SETTINGS):
    return Trainer(nets.build(game, "tiny"), settings, CPU)


@pytest.mark.parametrize("name", zf.games.names())
def test_a_network_that_fits_finished_games_rates_the_winner_above_the_loser(name):
    options = {"gomoku": {"size": 7, "line": 4}, "backgammon": {"checkers": 3}}.get(name, {})
    game = zf.games.get(name, **options)
    episodes = played(game, 6, num_simulations=4)
    batch = batch_of(episodes, game)
    trainer = new_trainer(game)
    for _ in range(120):
        trainer.step(batch)
    rewards_O = torch.tensor([outcome.reward for outcome in game.outcomes])
    network = trainer.network.eval()
    sides = {}
    for data in episodes:
        episode = zf.games.Episode.decode(data)
        rows = episode.rows(game)
        with torch.inference_mode():
            logits_RO = network(torch.from_numpy(rows.observations)).outcome_logits_BO
        value_observer_R = (torch.softmax(logits_RO, dim=1) @ rewards_O).numpy()
        final = episode.positions(game)[-1].rewards()
        for player in (0, 1):
            own_R = (rows.observer == player) & (rows.event >= len(episode.events) // 2)
            mean = value_observer_R[own_R].mean()  # openings are shared by games won and lost
            sides.setdefault((player, np.sign(final[player])), []).append(float(mean))
    for player in (0, 1):
        won, lost = sides.get((player, 1.0)), sides.get((player, -1.0))
        if won:
            assert min(won) > 0, f"player {player} won and is rated {min(won)}"
        if lost:
            assert max(lost) < 0, f"player {player} lost and is rated {max(lost)}"
    assert any(key[1] > 0 for key in sides)


def test_losses_fall_on_a_batch_that_is_seen_again():
    batch = batch_of(played(GAME, 12))
    trainer = new_trainer()
    reports = [stepped(trainer, batch) for _ in range(60)]
    assert reports[-1].values["loss/outcome"] < 0.5 * reports[0].values["loss/outcome"]
    assert reports[-1].values["loss"] < 0.9 * reports[0].values["loss"]
    assert reports[-1].values["policy_accuracy"] > reports[0].values["policy_accuracy"]


def test_the_policy_loss_is_the_entropy_of_its_targets_and_the_divergence_from_them():
    batch = batch_of(played(GAME, 12))
    trainer = new_trainer()
    first, *_, last = (stepped(trainer, batch).values for _ in range(30))
    for values in (first, last):
        parts = values["target_entropy"] + values["policy_kl"]
        assert values["loss/policy"] == pytest.approx(parts, rel=1e-5)
    assert first["target_entropy"] == pytest.approx(last["target_entropy"])
    assert 0 < last["policy_kl"] < first["policy_kl"]
    policy_BA = torch.from_numpy(batch.rows_B["policy"].astype("f8"))
    policy_BA = policy_BA[policy_BA.sum(dim=1) > 0]
    by_hand = torch.distributions.Categorical(probs=policy_BA).entropy().mean()
    assert first["target_entropy"] == pytest.approx(float(by_hand), rel=1e-4)


def test_a_checkpoint_resumes_bit_by_bit(tmp_path):
    batch = batch_of(played(GAME, 6))
    undisturbed, before = new_trainer(), new_trainer()
    before.restore(*undisturbed.state())
    for _ in range(4):
        stepped(undisturbed, batch)
        stepped(before, batch)
    store = CheckpointStore(tmp_path, keep=2)
    tensors, rest = before.state()
    store.save(Checkpoint(before.step_count, tensors, {"trainer": rest}))
    found, faults = store.load_newest()
    assert found is not None
    assert faults == []
    after = new_trainer()
    after.restore(found.tensors, found.rest["trainer"])
    for _ in range(4):
        expected, got = stepped(undisturbed, batch), stepped(after, batch)
        assert got == expected
    for name, value in undisturbed.ema.items():
        assert torch.equal(value, after.ema[name])


def test_a_checkpoint_of_another_network_is_refused():
    tensors, rest = new_trainer().state()
    first = next(name for name in tensors if name.startswith("network."))
    tensors["network.from_before"] = tensors.pop(first)
    with pytest.raises(Inconsistent, match=r"^the weights of a checkpoint do not fit board \("):
        new_trainer().restore(tensors, rest)


def test_a_number_that_is_not_finite_stops_and_keeps_the_weights():
    batch = batch_of(played(GAME, 3))
    trainer = new_trainer()
    trainer.step(batch)
    kept = {name: value.clone() for name, value in trainer.ema.items()}
    parameters = [value.clone() for value in trainer.network.parameters()]
    with pytest.raises(NotFinite, match=r"step 2: loss.*weights of step 1 are kept"):
        trainer.step(not_finite(batch))
    assert trainer.step_count == 1
    for name, value in trainer.ema.items():
        assert torch.equal(value, kept[name])
    for value, before in zip(trainer.network.parameters(), parameters, strict=True):
        assert torch.equal(value, before)


def test_unread_steps_after_one_that_is_not_finite_change_nothing():
    batch = batch_of(played(GAME, 3))
    trainer, shorter = new_trainer(), new_trainer()
    shorter.restore(*trainer.state())
    for each in (trainer, shorter):
        each._max_unread = 8  # as on a GPU
        for _ in range(3):
            each.step(batch)
    for bad in (not_finite(batch), batch, batch):
        trainer.step(bad)
    assert trainer.step_count == 6
    with pytest.raises(NotFinite, match=r"step 4: loss.*weights of step 3 are kept"):
        trainer.copy_ema()
    assert trainer.step_count == 3
    assert [report.step for report in trainer.take_reports()] == [1, 2, 3]
    trainer.step(batch)
    shorter.step(batch)
    assert trainer.take_reports() == shorter.take_reports()[3:]
    (tensors, _), (expected, _) = trainer.state(), shorter.state()
    assert tensors.keys() == expected.keys()
    for name, value in expected.items():
        assert torch.equal(tensors[name], value), name


def test_metrics_that_are_read_late_are_those_of_each_step():
    batch = batch_of(played(GAME, 3))
    at_once, late = new_trainer(), new_trainer()
    late.restore(*at_once.state())
    late._max_unread = 4
    expected = [stepped(at_once, batch) for _ in range(10)]
    for _ in range(10):
        late.step(batch)
    assert late.take_reports() == expected
    assert late.take_reports() == []


def test_the_learning_rate_warms_up_then_decays_along_a_cosine_to_the_end_of_the_run():
    settings = TrainConfig(learning_rate=1, warmup_steps=9, schedule="cosine")
    shares = [learning_rate(step, step / 1000, settings) for step in range(1100)]
    assert shares[0] == pytest.approx(0.1, rel=1e-4)
    assert shares[9] == pytest.approx(1, rel=1e-3)
    assert shares[500] == pytest.approx(0.5)
    assert shares[1000] == shares[1099] == pytest.approx(0)
    assert all(a >= b for a, b in itertools.pairwise(shares[9:]))
    constant = TrainConfig(learning_rate=1, warmup_steps=9, schedule="constant")
    assert learning_rate(500, 0.5, constant) == 1


def test_only_legal_actions_share_the_probability():
    batch = batch_of(played(GAME, 3))
    network = nets.build(GAME, "tiny").eval()
    tensors = Unpacker(batch.format, CPU)(PackedBatch.of(batch))
    output = network(tensors.observations_BN)
    one_legal_BA = torch.zeros_like(tensors.legal_BA)
    one_legal_BA[:, 3] = 1
    forced = dataclasses.replace(
        tensors, legal_BA=one_legal_BA, policy_BA=one_legal_BA * tensors.has_policy_B[:, None]
    )
    losses = compute_losses(network, output, forced)
    assert losses["loss/policy"].value.item() == pytest.approx(0, abs=1e-6)


def test_a_warm_up_on_a_blank_batch_changes_nothing():
    network = nets.build(GAME, "tiny").train()
    step = Step(network, SETTINGS, CPU, compiles=False)
    before = {name: value.clone() for name, value in network.state_dict().items()}
    blank = Sampler(ReplayBuffer(GAME, 10), GAME, ReplayConfig(), seed=1).blank(8)
    rows = Unpacker(blank.format, CPU)(PackedBatch.of(blank))
    assert rows.observations_BN.shape == (8, GAME.observation_bytes)
    step.warm_up(rows)
    for kept in (network.state_dict(), step.ema):
        assert all(torch.equal(kept[name], value) for name, value in before.items())
    assert not step.optimizer.state_dict()["state"]
    assert all(parameter.grad is None for parameter in network.parameters())


def test_float32_is_multiplied_as_tf32_on_gpus_and_exactly_on_cpus(exact_matmul):
    assert torch.backends.cuda.matmul.fp32_precision == "ieee"
    set_up_torch(seed=1, num_threads=torch.get_num_threads(), deterministic=False)
    assert torch.backends.cuda.matmul.fp32_precision == "tf32"
    assert torch.backends.mkldnn.matmul.fp32_precision == "ieee"
    assert torch.get_float32_matmul_precision() == "high"  # what kernels of our own ask for
