"""Weights become the network that they are of, or are refused by name."""

import pytest

import zerofleet as zf
from zerofleet import nets
from zerofleet.errors import Inconsistent
from zerofleet.infer.load import network_of
from zerofleet.weights import Weights


def test_weights_with_other_tensors_than_their_network_has_are_refused():
    game = zf.games.get("connect4")
    network = nets.build(game, "tiny")
    tensors = {name: value.numpy() for name, value in network.state_dict().items()}
    first = next(iter(tensors))
    tensors["from_before"] = tensors.pop(first)
    with pytest.raises(Inconsistent, match=r"^weights 7 do not fit board \(.*from_before differs"):
        network_of(Weights(7, network.spec.to_dict(), tensors), game)
