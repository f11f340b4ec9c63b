"""A residual MLP over bytes that it knows nothing about, for a custom game.

Each byte gets a few learned numbers by its value, the same table for all places; the first layer
tells the places apart.

Shapes: B batch, N bytes, D numbers per byte.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from zerofleet.nets.layers import ResidualMlp, final_layer
from zerofleet.nets.network import Network, NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec

NUM_BYTE_VALUES = 256


class BytesOptions(NetworkOptions):
    width: int = Field(128, ge=8, le=8192)
    """Of every layer. Doubling it costs up to four times as much."""
    num_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each."""
    byte_embedding_dim: int = Field(8, ge=1, le=256)
    """Numbers that stand for one byte. More tell its values apart better."""


class BytesNetwork(Network):
    Options = BytesOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = BytesOptions.model_validate(spec.options)
        self.byte = nn.Embedding(NUM_BYTE_VALUES, options.byte_embedding_dim)
        num_inputs = spec.observation_bytes * options.byte_embedding_dim
        self.trunk = ResidualMlp(num_inputs, options.width, options.num_blocks)
        self.policy = final_layer(nn.Linear(options.width, spec.num_actions))
        self.outcomes = final_layer(nn.Linear(options.width, spec.num_outcomes))

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        embedded_BND = self.byte(observations_BN.to(torch.int32))
        trunk_BW = self.trunk(embedded_BND.flatten(1))
        return Output(self.policy(trunk_BW), self.outcomes(trunk_BW), {})
