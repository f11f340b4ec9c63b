"""A custom network is registered by name, and then is a network like the others."""

import numpy as np
import pytest
import torch
from torch import nn

from zerofleet import infer, nets
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.nets.build import CUSTOM


@pytest.fixture(autouse=True)
def registered_here_only():
    before = dict(CUSTOM)
    yield
    CUSTOM.clear()
    CUSTOM.update(before)


class Linear(nets.Network):
    """One linear layer on the bytes, times a factor that is no parameter."""

    factor = 1.0

    def __init__(self, spec):
        super().__init__(spec)
        self.order: torch.Tensor
        self.register_buffer("order", torch.arange(spec.observation_bytes - 1, -1, -1))
        self.layer = nn.Linear(spec.observation_bytes, spec.num_actions + spec.num_outcomes)

    def forward(self, observations_BN, with_auxiliary=None):
        x_BX = self.layer(observations_BN[:, self.order].float() * self.factor)
        return nets.Output(x_BX[:, : self.spec.num_actions], x_BX[:, self.spec.num_actions :], {})


def test_a_registered_network_is_a_preset_and_is_built_again_from_its_spec(get_game):
    assert nets.register("linear")(Linear) is Linear
    game = get_game("connect4")
    assert "linear" in nets.presets("connect4")
    network = nets.build(game, "linear")
    assert isinstance(network, Linear)
    spec = nets.NetworkSpec.from_dict(network.spec.to_dict())
    assert spec.kind == "linear"
    assert isinstance(nets.from_spec(spec), Linear)


def test_options_of_a_custom_network_are_checked_by_its_class(get_game):
    class Options(nets.NetworkOptions):
        depth: int = 3

    @nets.register("deep")
    class Deep(Linear):
        pass

    Deep.Options = Options
    game = get_game("connect4")
    assert nets.build(game, "deep").spec.options == {"depth": 3}
    assert nets.build(game, "deep", depth=5).spec.options == {"depth": 5}
    with pytest.raises(BadText, match="a deep network: depth"):
        nets.build(game, "deep", depth="much")
    with pytest.raises(Unsupported, match="unknown option of a deep network width"):
        nets.build(game, "deep", width=5)


@pytest.mark.parametrize("name", ["board", "tiny", "cards-large", "", "a b", "../x"])
def test_names_of_built_in_networks_and_invalid_names_are_refused(name):
    with pytest.raises(BadText, match="register"):
        nets.register(name)
    assert name not in CUSTOM


def test_only_networks_can_be_registered():
    with pytest.raises(BadText, match=r"derived from zf\.nets\.Network"):
        nets.register("plain")(nn.Linear)


def test_a_network_that_nobody_registered_is_named_with_how_to_give_it(get_game):
    game = get_game("connect4")
    with pytest.raises(
        Unsupported, match=r"preset .* lost; .*--plugin FILE\.py.*zf\.nets\.register"
    ):
        nets.build(game, "lost")
    spec = nets.NetworkSpec.of(game, "lost", {})
    with pytest.raises(Unsupported, match=r"unknown kind of network lost; .*--plugin FILE\.py"):
        nets.from_spec(spec)


def test_a_custom_network_with_wrong_shapes_is_refused_when_it_is_built(get_game):
    @nets.register("narrow")
    class Narrow(Linear):
        def forward(self, observations_BN, with_auxiliary=None):
            output = super().forward(observations_BN)
            return output._replace(policy_logits_BA=output.policy_logits_BA[:, 1:])

    @nets.register("pair")
    class Pair(Linear):
        def forward(self, observations_BN, with_auxiliary=None):
            return tuple(super().forward(observations_BN))

    game = get_game("connect4")
    with pytest.raises(Inconsistent, match=r"narrow: policy_logits_BA .* must be \[2, 7\], got"):
        nets.build(game, "narrow")
    with pytest.raises(Inconsistent, match=r"network pair: forward must return a zf\.nets\.Output"):
        nets.build(game, "pair")


def test_onnx_runtime_answers_as_a_custom_network_does_also_after_its_class_was_replaced(
    get_game, observe
):
    game = get_game("connect4")
    rows_BN = observe(game, 8)
    for factor in (1.0, 3.0):
        nets.register("linear")(type("Scaled", (Linear,), {"factor": factor}))
        network = nets.build(game, "linear").eval()
        with torch.no_grad():
            output = network(torch.from_numpy(rows_BN))
        evaluator = infer.make_evaluator(network, "onnx", device="cpu")
        logits_BA, outcomes_BO = evaluator(rows_BN)
        np.testing.assert_allclose(logits_BA, output.policy_logits_BA, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(
            outcomes_BO, output.outcome_logits_BO.softmax(dim=1), rtol=1e-4, atol=1e-4
        )


def test_a_network_that_cannot_be_exported_is_evaluated_by_torch_where_its_class_says_so(get_game):
    @nets.register("data_dependent")
    class DataDependent(Linear):
        def forward(self, observations_BN, with_auxiliary=None):
            if observations_BN.sum() > 1e9:
                raise ValueError("so many bytes")
            return super().forward(observations_BN)

    network = nets.build(get_game("connect4"), "data_dependent")
    with pytest.raises(Unsupported, match="data_dependent network cannot be exported to ONNX"):
        infer.make_evaluator(network, device="cpu")
    DataDependent.exports_onnx = False
    assert isinstance(infer.make_evaluator(network, device="cpu"), infer.TorchEvaluator)
    with pytest.raises(Unsupported, match="exports_onnx = False"):
        infer.make_evaluator(network, "onnx", device="cpu")
