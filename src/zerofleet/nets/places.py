"""A residual MLP over where each card is, for Beasty Bar.

Each of the 24 cards is in one of ten places, so a position is 24 choices of ten and a few counters.
One matrix product reads them all, which is ten times as fast on a CPU as attention over the cards.

Shapes: B batch, N bytes, I inputs, W width.
"""

from pydantic import Field
from torch import Tensor

from zerofleet.nets.beastybar import NUM_INPUTS, BeastyBarNetwork, all_at_once
from zerofleet.nets.layers import ResidualMlp
from zerofleet.nets.network import NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec


class PlacesOptions(NetworkOptions):
    width: int = Field(128, ge=8, le=8192)
    """Of every layer. Doubling it costs up to four times as much."""
    num_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of numbers left out in training, against learning few games by heart."""
    use_dueling: bool = True
    """A hidden layer of their own for policy and for outcomes, the policy centred on its mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""


class PlacesNetwork(BeastyBarNetwork):
    Options = PlacesOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = PlacesOptions.model_validate(spec.options)
        self.trunk = ResidualMlp(NUM_INPUTS, options.width, options.num_blocks, options.dropout)
        self.add_heads(options.width, options.use_dueling, options.use_auxiliary_heads)

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        inputs_BI = all_at_once(*self.bytes(observations_BN))
        trunk_BW = self.trunk(inputs_BI.to(self.trunk.first.weight.dtype))
        return self.answer(trunk_BW, with_auxiliary)
