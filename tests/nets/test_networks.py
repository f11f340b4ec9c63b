"""What every network promises, on observations of real games."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from zerofleet import nets
from zerofleet.nets.board import ConvNorm

GAMES = [
    ("connect4", {}),
    ("gomoku", {"size": 5, "line": 4}),
    ("backgammon", {"checkers": 3}),
    ("beastybar", {"scoring": "animals"}),
    ("nim", {}),
]


@pytest.mark.parametrize(("name", "options"), GAMES)
def test_every_preset_gives_a_logit_per_action_and_per_outcome(get_game, observe, name, options):
    game = get_game(name, **options)
    observations_BN = torch.from_numpy(observe(game, 4))
    for preset in nets.presets(name):
        network = nets.build(game, preset)
        output = network(observations_BN)
        assert output.policy_logits_BA.shape == (4, game.num_actions)
        assert output.outcome_logits_BO.shape == (4, len(game.outcomes))
        for logits in (*output[:2], *output.auxiliary.values()):
            assert logits.isfinite().all(), preset


@pytest.mark.parametrize(
    ("name", "preset", "millions"),
    [
        ("gomoku", "small", 1.2),
        ("gomoku", "medium", 3),
        ("gomoku", "large", 5),
        ("connect4", "small", 1.2),
        ("beastybar", "large", 10),
        ("beastybar", "pooled-large", 13),
    ],
)
def test_presets_have_about_as_many_parameters_as_they_say(get_game, name, preset, millions):
    network = nets.build(get_game(name), preset)
    assert network.num_parameters == pytest.approx(millions * 1e6, rel=0.1)


@pytest.mark.parametrize("name", ["connect4", "gomoku", "backgammon", "beastybar", "nim"])
def test_presets_are_listed_from_tiny_to_large_and_each_is_larger_than_the_one_before(
    get_game, name
):
    game = get_game(name)
    sizes = ["tiny", "small", "medium", "large"]
    assert nets.presets(name)[:4] == sizes
    counts = [nets.build(game, preset).num_parameters for preset in sizes]
    assert counts == sorted(set(counts))


def test_answers_are_finite_and_undecided_before_any_training(game_and_network, observe):
    game, network = game_and_network
    output = network.eval()(torch.from_numpy(observe(game, 200)))
    assert output.policy_logits_BA.isfinite().all()
    outcomes_BO = output.outcome_logits_BO.softmax(dim=1)
    assert (outcomes_BO - 1 / len(game.outcomes)).abs().max() < 0.1


def test_a_row_is_answered_alike_alone_and_among_others(game_and_network, observe):
    game, network = game_and_network
    observations_BN = torch.from_numpy(observe(game, 20))
    network.eval()
    together, alone = network(observations_BN), network(observations_BN[7:8])
    for all_rows, one_row in zip(together[:2], alone[:2], strict=True):
        assert torch.allclose(all_rows[7:8], one_row, atol=1e-5)


@pytest.mark.parametrize("is_training", [False, True], ids=["inference", "training"])
def test_the_compiler_traces_it_as_one_graph_with_the_same_answers(
    game_and_network, observe, is_training
):
    """What a CUDA graph and the compiled step need: no control flow that depends on data."""
    game, network = game_and_network
    observations_BN = torch.from_numpy(observe(game, 8))
    network.train(is_training)
    torch._dynamo.reset()
    traced = torch.compile(network, fullgraph=True, dynamic=False, backend="aot_eager")
    outputs = []
    for forward in (network, traced):
        torch.manual_seed(1)  # for dropout
        outputs.append(forward(observations_BN))
    plain, compiled = ((*each[:2], *each.auxiliary.values()) for each in outputs)
    for one, other in zip(plain, compiled, strict=True):
        assert one.shape == other.shape
        if not is_training:  # the compiler draws other numbers for dropout
            torch.testing.assert_close(one, other, atol=1e-5, rtol=1e-5)


def losses_of(network, observations_BN, policy_B, outcome_B):
    output = network(observations_BN)
    policy = functional.cross_entropy(output.policy_logits_BA, policy_B)
    return output, policy + functional.cross_entropy(output.outcome_logits_BO, outcome_B)


def test_all_weights_learn_with_the_auxiliary_heads_on(game_and_network, observe, make_batch):
    game, network = game_and_network
    observations_BN = torch.from_numpy(observe(game, 64))
    policy_B = torch.randint(game.num_actions, (64,))
    outcome_B = torch.randint(len(game.outcomes), (64,))
    output, loss = losses_of(network.train(), observations_BN, policy_B, outcome_B)
    batch = make_batch(reply_B=policy_B, final_observation_BN=observations_BN)
    auxiliary = network.auxiliary_losses(output, batch)
    assert auxiliary.keys() == output.auxiliary.keys()
    (loss + sum(each.value for each in auxiliary.values())).backward()
    for name, parameter in network.named_parameters():
        assert parameter.grad is not None, name
        assert parameter.grad.isfinite().all(), name
        assert parameter.grad.abs().max() > 0, name


def test_it_can_overfit_64_positions(game_and_network, observe):
    game, network = game_and_network
    rows = np.unique(observe(game, 300), axis=0)
    observations_BN = torch.from_numpy(np.random.default_rng(1).permutation(rows)[:64])
    policy_B = torch.randint(game.num_actions, (len(observations_BN),))
    outcome_B = torch.randint(len(game.outcomes), (len(observations_BN),))
    optimiser = torch.optim.Adam(network.parameters(), lr=3e-3)
    network.train()
    for _ in range(100):
        _, loss = losses_of(network, observations_BN, policy_B, outcome_B)
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    untrained = np.log(game.num_actions) + np.log(len(game.outcomes))
    with torch.no_grad():
        _, learnt = losses_of(network.eval(), observations_BN, policy_B, outcome_B)
    assert learnt < 0.1 * untrained


def test_a_folded_convolution_equals_convolution_and_norm():
    layer = ConvNorm(3, 5, 3)
    x_BFRC = torch.randn(8, 3, 4, 6) * 2 + 1
    for _ in range(5):
        layer.train()(x_BFRC)  # moves the means and variances
    torch.nn.init.normal_(layer.norm.weight)
    torch.nn.init.normal_(layer.norm.bias)
    layer.eval()
    assert torch.allclose(layer(x_BFRC), layer.norm(layer.conv(x_BFRC)), atol=1e-5)
