"""A transformer with one token per card beside a residual MLP over all of them, for Beasty Bar.

Each of the 24 cards is in exactly one place, so where each is, and a few counters, are all there is
to know. Nothing is padded and nothing is masked. One product reads all places, as in the places
network, which learns soonest; its answer is told to every token, and what the tokens find out
together is added to it.

Shapes: B batch, N bytes, Z the 24 cards as tokens, P places, W width of a token, V width of the
state, I inputs.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from zerofleet.nets.beastybar import (
    NUM_CARDS,
    NUM_ENDS,
    NUM_INPUTS,
    NUM_PLACES,
    BeastyBarNetwork,
    CardEmbedding,
    Heads,
    all_at_once,
)
from zerofleet.nets.layers import ResidualMlp, Transformer, final_layer
from zerofleet.nets.network import NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec


class CardsOptions(NetworkOptions):
    width: int = Field(64, ge=8, le=2048)
    """Numbers per card. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Heads of attention; they must divide the width. Few are faster."""
    num_layers: int = Field(2, ge=1, le=100)
    state_width: int = Field(128, ge=8, le=8192)
    """Of the layers that read all cards at once, and of the answer. Costs little."""
    state_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each over all cards at once."""
    species_embedding_dim: int = Field(16, ge=1)
    """Numbers that stand for a species before they are widened to a token."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of numbers left out in training."""
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
        width, state_width = options.width, options.state_width
        self.state = ResidualMlp(NUM_INPUTS, state_width, options.state_blocks, options.dropout)
        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.place = nn.Parameter(0.1 * torch.randn(NUM_PLACES, width))
        self.card_in_place = nn.Parameter(0.1 * torch.randn(NUM_CARDS, NUM_PLACES, width))
        self.tell = nn.Linear(state_width, width)
        self.transformer = Transformer(
            options.num_layers, width, options.num_heads, options.dropout
        )
        self.found = nn.Linear(2 * width + state_width, state_width)
        self.heads = Heads(state_width, spec, use_dueling=True)
        self.end = GameEnd(state_width, width) if options.use_auxiliary_heads else None

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        state_BV = self.state(all_at_once(is_at_BZP, counters_BG))
        in_place_BZW = torch.einsum("bzp,zpw->bzw", is_at_BZP, self.place + self.card_in_place)
        tokens_BZW = self.transformer(self.card() + in_place_BZW + self.tell(state_BV)[:, None])
        # The largest is found by its index, not by comparing on the way back; see nets/board.py.
        largest_BW = tokens_BZW.max(dim=1).values
        all_BI = torch.cat([tokens_BZW.mean(dim=1), largest_BW, state_BV], dim=1)
        summary_BV = state_BV + functional.relu(self.found(all_BI))
        auxiliary = {}
        if self.end is not None and self.wants_auxiliary(with_auxiliary):
            auxiliary = self.end(summary_BV, tokens_BZW)
        policy_logits_BA, outcome_logits_BO = self.heads(summary_BV)
        return Output(policy_logits_BA, outcome_logits_BO, auxiliary)


class GameEnd(nn.Module):
    """The final margin from the whole position, and where each card ends from its token."""

    def __init__(self, state_width: int, width: int) -> None:
        super().__init__()
        self.margin = final_layer(nn.Linear(state_width, 1))
        self.card_destination = final_layer(nn.Linear(width, NUM_ENDS))

    def forward(self, summary_BV: Tensor, tokens_BZW: Tensor) -> dict[str, Tensor]:
        return {
            "margin": self.margin(summary_BV).squeeze(1),
            "card_destination": self.card_destination(tokens_BZW),
        }
