"""A transformer over the zones of Beasty Bar: the queue in its order, sets of cards, and the hand.

Each zone is encoded by itself, then all are brought together.

- The queue: a token for each place in it, in order.
- Bar and That's It, and in the same pass what is in piles and not seen: a token for each card, that
  attends only to the cards in the same place; then their means, a token for each of these sets.
- The hand: a token for each card in it, by strength; four at the most.
- The fusion: all of these, and a token for the counters; their mean stands for the position.

Masks are added to logits or multiplied; nothing is indexed by data. What may attend to nothing
attends to everything alike, and the mean of nothing is 0, so an empty zone gives finite numbers.

Shapes: B batch, N bytes, Z the 24 cards, P places, Q places in the queue, S sets, M the observer's
12 cards, H cards that a hand holds, T tokens of the fusion, G features of the counters, W width.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from zerofleet.nets.beastybar import (
    COUNTER_SCALES,
    FRONT_OF_QUEUE,
    HAND_SIZE,
    IN_HAND,
    NUM_CARDS,
    NUM_SETS,
    NUM_SPECIES,
    QUEUE_SLOTS,
    BeastyBarNetwork,
    CardEmbedding,
)
from zerofleet.nets.layers import FORBIDDEN, Transformer
from zerofleet.nets.network import NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec


class ZonesOptions(NetworkOptions):
    hidden_dim: int = Field(64, ge=8, le=2048)
    """Numbers per token. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Heads of attention; they must divide hidden_dim. Few are faster."""
    queue_layers: int = Field(1, ge=0, le=100)
    """Over the places in the queue."""
    bar_layers: int = Field(1, ge=0, le=100)
    """Over the cards in bar and That's It. The most expensive ones: 24 tokens."""
    hand_layers: int = Field(1, ge=0, le=100)
    """Over the cards in the hand."""
    fusion_layers: int = Field(1, ge=1, le=100)
    """Over everything together."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Share of numbers left out in training."""
    species_embedding_dim: int = Field(16, ge=1)
    """Numbers that stand for a species before they are widened to a token."""
    use_dueling: bool = True
    """A hidden layer of their own for policy and for outcomes, the policy centred on its mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""

    @model_validator(mode="after")
    def heads_divide_width(self) -> "ZonesOptions":
        if self.hidden_dim % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} must divide hidden_dim {self.hidden_dim}")
        return self


class ZonesNetwork(BeastyBarNetwork):
    Options = ZonesOptions

    up_to_MM: Tensor
    first_to_last_H1: Tensor

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = ZonesOptions.model_validate(spec.options)
        width = options.hidden_dim

        def layers(num_layers: int) -> Transformer:
            return Transformer(num_layers, width, options.num_heads, options.dropout)

        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.queue_place = nn.Parameter(0.1 * torch.randn(QUEUE_SLOTS, width))
        self.set_place = nn.Parameter(0.1 * torch.randn(NUM_SETS, width))
        up_to_MM = torch.ones(NUM_SPECIES, NUM_SPECIES).triu()
        self.register_buffer("up_to_MM", up_to_MM, persistent=False)
        first_to_last_H1 = torch.arange(1.0, HAND_SIZE + 1)[:, None]
        self.register_buffer("first_to_last_H1", first_to_last_H1, persistent=False)
        self.counters = nn.Linear(len(COUNTER_SCALES) + NUM_SETS, width)
        self.queue = layers(options.queue_layers)
        self.sets = layers(options.bar_layers)
        self.hand = layers(options.hand_layers)
        self.fusion = layers(options.fusion_layers)
        self.add_heads(width, options.use_dueling, options.use_auxiliary_heads)

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        in_queue_BQZ = is_at_BZP[:, :, FRONT_OF_QUEUE:].transpose(1, 2)
        in_set_BZS = is_at_BZP[:, :, :NUM_SETS]
        in_hand_BHM = self.one_by_one(is_at_BZP[:, :NUM_SPECIES, IN_HAND])
        taken_BQ = in_queue_BQZ.sum(dim=2).clamp(max=1)
        held_BH = in_hand_BHM.sum(dim=2)
        sizes_BS = in_set_BZS.sum(dim=1)

        cards_ZW = self.card()
        always_BS = torch.ones_like(sizes_BS)
        sets_BSW = self.encoded_sets(cards_ZW, in_set_BZS, sizes_BS)
        queue_BQW = self.queue(in_queue_BQZ @ cards_ZW + self.queue_place, only(taken_BQ))
        in_place_BHW = held_BH[:, :, None] * self.set_place[IN_HAND]
        hand_BHW = self.hand(in_hand_BHM @ cards_ZW[:NUM_SPECIES] + in_place_BHW, only(held_BH))
        counters_BG = torch.cat([counters_BG, sizes_BS / NUM_CARDS], dim=1)
        counters_B1W = self.counters(counters_BG)[:, None]

        tokens_BTW = torch.cat([counters_B1W, sets_BSW, queue_BQW, hand_BHW], dim=1)
        there_BT = torch.cat([always_BS[:, :1], always_BS, taken_BQ, held_BH], dim=1)
        fused_BTW = self.fusion(tokens_BTW, only(there_BT))
        summary_BW = (there_BT[:, None] @ fused_BTW)[:, 0] / there_BT.sum(dim=1, keepdim=True)

        return self.answer(summary_BW, with_auxiliary)

    def one_by_one(self, in_hand_BM: Tensor) -> Tensor:
        """Which card is the first in the hand, the second and so on, one-hot [B, H, M]."""
        nth_BM = in_hand_BM @ self.up_to_MM
        return in_hand_BM[:, None] * (nth_BM[:, None] == self.first_to_last_H1)

    def encoded_sets(self, cards_ZW: Tensor, in_set_BZS: Tensor, sizes_BS: Tensor) -> Tensor:
        """The mean of the cards in each set, and which set it is."""
        in_same_set_BZZ = in_set_BZS @ in_set_BZS.transpose(1, 2)
        cards_BZW = self.sets(
            cards_ZW + in_set_BZS @ self.set_place, forbidding(in_same_set_BZZ)[:, None]
        )
        sums_BSW: Tensor = in_set_BZS.transpose(1, 2) @ cards_BZW
        return sums_BSW / sizes_BS.clamp(min=1)[:, :, None] + self.set_place


def forbidding(allowed: Tensor) -> Tensor:
    """What to add to the logits of attention: nothing where allowed is 1, FORBIDDEN where 0."""
    return FORBIDDEN * (1 - allowed)


def only(there_BT: Tensor) -> Tensor:
    """The same for tokens that all attend to those that are there, [B, 1, 1, T]."""
    return forbidding(there_BT)[:, None, None]
