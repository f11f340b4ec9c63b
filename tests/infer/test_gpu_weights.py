"""Fused GPU weights compute what the network computes; in float32 on a CPU."""

import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.errors import Inconsistent
from zerofleet.infer.gpu_weights import GpuWeights


def network_of(game_name, preset, seed, **options):
    """A network whose weights and norms are not the initial ones."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = nets.build(zf.games.get(game_name), preset, **options).eval()
    with torch.no_grad():
        for value in network.state_dict().values():
            if value.is_floating_point():
                value.add_(0.1 * torch.rand_like(value))
    return network


def observations_of(game_name):
    game = zf.games.get(game_name)
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=4)
    rows, _, _ = zf.games.Episode.decode(data).observations(game)
    return torch.from_numpy(rows[:8].copy())


def assert_answers_as(network, weights, observations_BN):
    with torch.no_grad():
        output = network(observations_BN)
    logits_BA, outcomes_BO = weights(observations_BN)
    torch.testing.assert_close(logits_BA, output.policy_logits_BA, atol=1e-4, rtol=1e-4)
    torch.testing.assert_close(
        outcomes_BO, output.outcome_logits_BO.softmax(1), atol=1e-4, rtol=1e-4
    )


@pytest.mark.parametrize(
    ("game_name", "preset", "options"),
    [
        ("connect4", "tiny", {}),
        ("gomoku", "tiny", {}),
        ("gomoku", "tiny", {"line_planes": True}),
        ("beastybar", "tiny", {}),
        ("beastybar", "cards-tiny", {}),
        ("beastybar", "places-tiny", {}),
        ("beastybar", "pooled-tiny", {}),
        ("backgammon", "tiny", {}),
    ],
)
def test_they_answer_as_the_network_before_and_after_a_load(game_name, preset, options):
    first, second = (network_of(game_name, preset, seed, **options) for seed in (1, 2))
    observations_BN = observations_of(game_name)
    weights = GpuWeights(first, torch.device("cpu"), 40, torch.float32)
    assert_answers_as(first, weights, observations_BN)
    weights.load(second.state_dict(), 41)
    assert weights.version == 41
    assert_answers_as(second, weights, observations_BN)


def test_weights_that_do_not_fit_are_refused_and_the_old_ones_stay():
    network, observations_BN = network_of("connect4", "tiny", 1), observations_of("connect4")
    weights = GpuWeights(network, torch.device("cpu"), 40, torch.float32)
    state = network_of("connect4", "tiny", 2).state_dict()
    del state["stem.norm.bias"]
    with pytest.raises(Inconsistent, match=r"^weights 41 refused: stem\.norm\.bias is missing"):
        weights.load(state, 41)
    assert weights.version == 40
    assert_answers_as(network, weights, observations_BN)
