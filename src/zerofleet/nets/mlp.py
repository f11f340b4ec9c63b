"""Residual MLPs: `points` for backgammon, and `bytes` for custom games.

Shapes: B batch, N bytes of an observation, S slots, I inputs, D width of an embedding, W width.
"""

import torch
from pydantic import Field
from torch import Tensor, nn

from zerofleet.errors import Unsupported
from zerofleet.nets.layers import ResidualMlp
from zerofleet.nets.network import Network, NetworkOptions, Output, final_layer
from zerofleet.weights.spec import NetworkSpec

NUM_SLOTS = 26
"""Of one player in backgammon: 24 points, the bar, off the board."""
CHECKERS = slice(0, 2 * NUM_SLOTS)
DICE = slice(2 * NUM_SLOTS, 2 * NUM_SLOTS + 6)
"""How many of each die are left."""
FROM, SKIP, TO_MOVE, ROLLS = range(2 * NUM_SLOTS + 6, 2 * NUM_SLOTS + 10)
"""The highest source that may come next, one that is closed, whose turn it is, the roll."""

MAX_CHECKERS, MAX_OF_A_DIE, NUM_SOURCES, NUM_ROLL_STATES = 15, 4, 26, 3

NUM_BYTE_VALUES = 256


class PointsOptions(NetworkOptions):
    width: int = Field(128, ge=8, le=8192)
    """Of every layer. Doubling it costs up to four times as much."""
    num_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each."""


class PointsNetwork(Network):
    """For backgammon, over hand-made features of each point."""

    Options = PointsOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        if spec.game != "backgammon":
            raise Unsupported(f"a points network is for backgammon, not for {spec.game}")
        options = PointsOptions.model_validate(spec.options)
        self.inputs = PointsInputs()
        self.trunk = ResidualMlp(self.inputs.num_inputs, options.width, options.num_blocks)
        self.policy = final_layer(nn.Linear(options.width, spec.num_actions))
        self.outcomes = nn.Sequential(
            nn.Linear(options.width, options.width),
            nn.ReLU(),
            final_layer(nn.Linear(options.width, spec.num_outcomes)),
        )

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        trunk_BW = self.trunk(self.inputs(observations_BN).to(self.trunk.first.weight.dtype))
        return Output(self.policy(trunk_BW), self.outcomes(trunk_BW), {})


class PointsInputs(nn.Module):
    """Features between 0 and 1, [B, I], close to those of TD-Gammon (Tesauro 1995).

    Each slot: whether it has at least 1, 2 and 3 checkers, and the scaled excess. Each die: whether
    at least 1, 2, 3 and 4 are left. The sources and the state of the roll are one-hot.
    """

    thresholds_3: Tensor
    dice_4: Tensor
    sources_26: Tensor
    roll_states_3: Tensor

    num_inputs = 2 * NUM_SLOTS * 4 + 6 * MAX_OF_A_DIE + 2 * NUM_SOURCES + 1 + NUM_ROLL_STATES

    def __init__(self) -> None:
        super().__init__()
        for name, values in {
            "thresholds_3": torch.arange(1.0, 4.0),
            "dice_4": torch.arange(1.0, 1.0 + MAX_OF_A_DIE),
            "sources_26": torch.arange(float(NUM_SOURCES)),
            "roll_states_3": torch.arange(float(NUM_ROLL_STATES)),
        }.items():
            self.register_buffer(name, values, persistent=False)

    def forward(self, observations_BN: Tensor) -> Tensor:
        bytes_BN1 = observations_BN.float()[:, :, None]
        checkers_BS1 = bytes_BN1[:, CHECKERS]
        parts = [
            checkers_BS1 >= self.thresholds_3,
            (checkers_BS1 - 3).clamp(min=0) / (MAX_CHECKERS - 3),
            bytes_BN1[:, DICE] >= self.dice_4,
            bytes_BN1[:, FROM : SKIP + 1] == self.sources_26,
            bytes_BN1[:, TO_MOVE],
            bytes_BN1[:, ROLLS] == self.roll_states_3,
        ]
        return torch.cat([part.float().flatten(1) for part in parts], dim=1)


class BytesOptions(NetworkOptions):
    width: int = Field(128, ge=8, le=8192)
    """Of every layer. Doubling it costs up to four times as much."""
    num_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each."""
    byte_embedding_dim: int = Field(8, ge=1, le=256)
    """Width of a byte's embedding. More tells its values apart better."""


class BytesNetwork(Network):
    """For any game. One embedding table for the bytes of all places; the first layer tells the
    places apart."""

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
