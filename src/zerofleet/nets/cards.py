"""A transformer with one token per card, for Beasty Bar.

Each of the 24 cards is in exactly one place, so where each is, and a few counters, are all there is
to know. Nothing is padded and nothing is masked.

Shapes: B batch, N bytes, Z the 24 cards as tokens, W width.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from zerofleet.nets.beastybar import (
    COUNTER_SCALES,
    NUM_PLACES,
    BeastyBarNetwork,
    CardEmbedding,
)
from zerofleet.nets.layers import Transformer
from zerofleet.nets.network import NetworkOptions, Output
from zerofleet.nets.spec import NetworkSpec


class CardsOptions(NetworkOptions):
    width: int = Field(64, ge=8, le=2048)
    """Numbers per card. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Heads of attention; they must divide the width. Few are faster."""
    num_layers: int = Field(2, ge=1, le=100)
    species_embedding_dim: int = Field(16, ge=1)
    """Numbers that stand for a species before they are widened to a token."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of numbers left out in training."""
    use_dueling: bool = True
    """A hidden layer of their own for policy and for outcomes, the policy centred on its mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""

    @model_validator(mode="after")
    def heads_divide_width(self) -> "CardsOptions":
        if self.width % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} must divide width {self.width}")
        return self


class CardsNetwork(BeastyBarNetwork):
    Options = CardsOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = CardsOptions.model_validate(spec.options)
        width = options.width
        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.place = nn.Linear(NUM_PLACES, width, bias=False)
        self.counters = nn.Linear(len(COUNTER_SCALES), width)
        self.transformer = Transformer(
            options.num_layers, width, options.num_heads, options.dropout
        )
        self.summary = nn.Linear(2 * width, width)
        self.add_heads(width, options.use_dueling, options.use_auxiliary_heads)

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        tokens_BZW = self.card() + self.place(is_at_BZP) + self.counters(counters_BG)[:, None]
        tokens_BZW = self.transformer(tokens_BZW)
        pooled_B2W = torch.cat([tokens_BZW.mean(dim=1), tokens_BZW.amax(dim=1)], dim=1)
        summary_BW = torch.relu(self.summary(pooled_B2W))
        return self.answer(summary_BW, with_auxiliary)
