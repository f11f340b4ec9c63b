"""The auxiliary head of board games: the opponent's reply."""

import math

import pytest
import torch

import zerofleet as zf
from zerofleet import nets


@pytest.fixture
def network(one_thread_and_the_same_weights):
    return nets.build(zf.games.get("connect4"), "tiny")


def test_auxiliary_heads_are_computed_in_training_or_when_asked_for(network):
    rows = torch.zeros(2, 43, dtype=torch.uint8)
    assert network.train()(rows).auxiliary["reply"].shape == (2, 7)
    assert network(rows, with_auxiliary=False).auxiliary == {}
    assert network.eval()(rows).auxiliary == {}
    assert network(rows, with_auxiliary=True).auxiliary["reply"].shape == (2, 7)


def test_a_network_can_be_built_without_auxiliary_heads(make_batch):
    network = nets.build(zf.games.get("connect4"), "tiny", use_auxiliary_heads=False)
    output = network(torch.zeros(2, 43, dtype=torch.uint8))
    assert output.auxiliary == {}
    batch = make_batch(torch.zeros(2, dtype=torch.int64), torch.zeros(2, 43, dtype=torch.uint8))
    assert network.auxiliary_losses(output, batch) == {}


def loss_of(network, make_batch, replies, logits_BA):
    output = nets.Output(torch.zeros(1), torch.zeros(1), {"reply": logits_BA})
    batch = make_batch(torch.tensor(replies), torch.zeros(len(replies), 43, dtype=torch.uint8))
    return network.auxiliary_losses(output, batch)["reply"].value.item()


def test_the_loss_is_the_mean_over_rows_that_have_a_reply(network, make_batch):
    logits_BA = torch.zeros(3, 7)
    logits_BA[1] = 1000 * torch.randn(7)  # the row without a reply
    logits_BA[2, 4] = 50
    assert loss_of(network, make_batch, [3, -1, 4], logits_BA) == pytest.approx(math.log(7) / 2)


def test_the_loss_is_0_where_no_row_has_a_reply(network, make_batch):
    assert loss_of(network, make_batch, [-1, -1], torch.randn(2, 7)) == 0
