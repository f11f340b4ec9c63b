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
    AttentionOptions,
    BeastyBarNetwork,
    CardEmbedding,
)
from zerofleet.nets.layers import Transformer
from zerofleet.nets.network import Output
from zerofleet.nets.spec import NetworkSpec


class CardsOptions(AttentionOptions):
    width: int = Field(64, ge=8, le=2048)
    """Numbers per card. Doubling it costs about four times as much."""
    num_layers: int = Field(2, ge=1, le=100)

    @model_validator(mode="after")
    def heads_divide_width(self) -> "CardsOptions":
        self.refuse_indivisible("width", self.width)
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
        self.add_heads(width, options)

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        tokens_BZW = self.card() + self.place(is_at_BZP) + self.counters(counters_BG)[:, None]
        tokens_BZW = self.transformer(tokens_BZW)
        pooled_B2W = torch.cat([tokens_BZW.mean(dim=1), tokens_BZW.amax(dim=1)], dim=1)
        summary_BW = torch.relu(self.summary(pooled_B2W))
        return self.answer(summary_BW, with_auxiliary)
