"""A transformer with one token per card, for Beasty Bar.

Each of the 24 cards is in exactly one place, so where each is, and a few counters, are all there is
to know. Nothing is padded and nothing is masked. What concerns one card is read from its own token:
how good it is to play it, and where it ends.

Shapes: B batch, N bytes, Z the 24 cards as tokens, S the observer's 12, P places, W width,
A actions, E ends of a card.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from zerofleet.nets.beastybar import (
    COUNTER_SCALES,
    NUM_CARDS,
    NUM_ENDS,
    NUM_PLACES,
    NUM_SPECIES,
    SPECIES_OF_ACTION,
    BeastyBarNetwork,
    CardEmbedding,
)
from zerofleet.nets.layers import Transformer, final_layer
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
        self.place = nn.Parameter(0.1 * torch.randn(NUM_PLACES, width))
        self.card_in_place = nn.Parameter(0.1 * torch.randn(NUM_CARDS, NUM_PLACES, width))
        self.counters = nn.Linear(len(COUNTER_SCALES), width)
        self.transformer = Transformer(
            options.num_layers, width, options.num_heads, options.dropout
        )
        self.summary = nn.Linear(2 * width, width)
        self.of_state = nn.Linear(width, width)
        self.outcomes = final_layer(nn.Linear(width, spec.num_outcomes))
        self.policy = CardPolicy(width, spec.num_actions)
        self.end = GameEnd(width) if options.use_auxiliary_heads else None

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        in_place_BZW = torch.einsum("bzp,zpw->bzw", is_at_BZP, self.place + self.card_in_place)
        tokens_BZW = self.card() + in_place_BZW + self.counters(counters_BG)[:, None]
        tokens_BZW = self.transformer(tokens_BZW)
        # The largest is found by its index, not by comparing on the way back; see nets/board.py.
        largest_BW = tokens_BZW.max(dim=1).values
        pooled_B2W = torch.cat([tokens_BZW.mean(dim=1), largest_BW], dim=1)
        summary_BW = functional.relu(self.summary(pooled_B2W))
        auxiliary = {}
        if self.end is not None and self.wants_auxiliary(with_auxiliary):
            auxiliary = self.end(tokens_BZW, summary_BW)
        return Output(
            self.policy(tokens_BZW[:, :NUM_SPECIES], summary_BW),
            self.outcomes(functional.relu(self.of_state(summary_BW))),
            auxiliary,
        )


class CardPolicy(nn.Module):
    """The logit of an action from the token of the card that it plays, and the whole position."""

    is_of_SA: Tensor
    """1 where an action plays a card of the species, else 0."""

    def __init__(self, width: int, num_actions: int) -> None:
        super().__init__()
        self.of_card = nn.Linear(width, width)
        self.of_state = nn.Linear(width, width, bias=False)
        self.logits = final_layer(nn.Linear(width, num_actions))
        species_A = torch.tensor(SPECIES_OF_ACTION)
        is_of_SA = (torch.arange(NUM_SPECIES)[:, None] == species_A).float()
        self.register_buffer("is_of_SA", is_of_SA, persistent=False)

    def forward(self, own_BSW: Tensor, summary_BW: Tensor) -> Tensor:
        hidden_BSW = functional.relu(self.of_card(own_BSW) + self.of_state(summary_BW)[:, None])
        logits_BSA: Tensor = self.logits(hidden_BSW) * self.is_of_SA
        return logits_BSA.sum(dim=1)


class GameEnd(nn.Module):
    """The final margin from the whole position, and where each card ends from its token."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.margin = final_layer(nn.Linear(width, 1))
        self.fate = final_layer(nn.Linear(width, NUM_ENDS))

    def forward(self, tokens_BZW: Tensor, summary_BW: Tensor) -> dict[str, Tensor]:
        return {"margin": self.margin(summary_BW).squeeze(1), "fate": self.fate(tokens_BZW)}
