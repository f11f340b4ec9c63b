"""Shared by the tests of evaluators: the tiny network of Connect Four, exported once."""

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import infer, nets
from zerofleet.nets.onnx import exported


def network_of(seed):
    """A network whose answers differ much from one position and one seed to the other."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    network = nets.build(zf.games.get("connect4"), "tiny", channels=8, num_blocks=2)
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(0.2 * torch.randn_like(parameter))
    return network


@pytest.fixture(scope="session")
def make_network():
    return network_of


@pytest.fixture(params=["torch", "onnx"])
def evaluator(request):
    """Serves the network of seed 1 as version 40."""
    if request.param == "torch":
        return infer.TorchEvaluator(network_of(1), "cpu", version=40)
    return served_by_onnx()


@pytest.fixture
def local():
    """The network of seed 1 as version 40, by ONNX Runtime."""
    return served_by_onnx()


def served_by_onnx():
    network = network_of(1)
    return infer.OnnxEvaluator(exported(network.spec), network.state_dict(), version=40)


@pytest.fixture(scope="session")
def observations_BN():
    """Of the first plies of a game; read-only, as self-play hands them out."""
    game = zf.games.get("connect4")
    rows = [game.from_text("4453267"[:plies]).observe(plies % 2) for plies in range(8)]
    observations_BN = np.stack(rows)
    observations_BN.flags.writeable = False
    return observations_BN


@pytest.fixture(scope="session")
def expected(observations_BN):
    """What the network of a seed answers."""

    def of_seed(seed):
        with torch.no_grad():
            output = network_of(seed).eval()(torch.from_numpy(observations_BN.copy()))
        outcomes_BO = output.outcome_logits_BO.softmax(dim=1)
        return output.policy_logits_BA.numpy(), outcomes_BO.numpy()

    return of_seed
