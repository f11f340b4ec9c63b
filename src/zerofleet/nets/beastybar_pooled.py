"""The network `pooled` for Beasty Bar: a transformer per zone, pooled to one vector, then an MLP.

The preset `pooled-large` has the layers of a published network of 12.86 M parameters;
docs/experiments/beastybar-network.md counts both, part by part.

Shapes: as in beastybar.py; Q places in the queue, T tokens of a zone.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn

from zerofleet.nets.beastybar import (
    COUNTER_SCALES,
    FRONT_OF_QUEUE,
    IN_BAR,
    IN_HAND,
    IN_THATS_IT,
    NUM_CARDS,
    NUM_SETS,
    NUM_SPECIES,
    QUEUE_SLOTS,
    UNSEEN,
    AuxiliaryHeads,
    BeastyBarNetwork,
    CardEmbedding,
    HandOrder,
    Heads,
    key_mask,
)
from zerofleet.nets.layers import ResidualMlp, Transformer
from zerofleet.nets.network import NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec

NUM_ZONES = 6
"""Queue, bar, That's It, hand, the opponent's cards, counters."""


class PooledOptions(NetworkOptions):
    hidden_dim: int = Field(64, ge=8, le=2048)
    """Width of a token. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Attention heads; they must divide hidden_dim. Few are faster."""
    queue_layers: int = Field(1, ge=0, le=100)
    """Over the places in the queue."""
    bar_layers: int = Field(1, ge=0, le=100)
    """Over the cards in the bar, and as many over those in That's It. The most expensive ones: 24
    tokens each."""
    hand_layers: int = Field(1, ge=0, le=100)
    """Over the cards in the hand, and as many over those that the opponent may hold."""
    fusion_layers: int = Field(1, ge=0, le=100)
    """Residual blocks that fuse the zones. They cost little: one vector per position."""
    outcome_layers: int = Field(0, ge=0, le=100)
    """Residual blocks of the outcomes' head. They cost little too."""
    feed_forward: int = Field(4, ge=1, le=16)
    """Hidden width of a transformer's feed-forward block, in token widths."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout rate in training."""
    species_embedding_dim: int = Field(16, ge=1)
    """Width of a species embedding before its projection to a token."""
    use_dueling: bool = True
    """A hidden layer each for policy and outcomes, the policy logits centred on their mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""

    @model_validator(mode="after")
    def heads_divide_width(self) -> "PooledOptions":
        if self.hidden_dim % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} must divide hidden_dim {self.hidden_dim}")
        return self


class PooledNetwork(BeastyBarNetwork):
    """Five zones, each encoded by a transformer of its own and pooled to the mean of its cards.

    - The queue: a token per place in it, in order.
    - The bar, That's It: a token per card.
    - The hand: a token per card in it, by strength; at most four.
    - The opponent's cards: a token for each that it may hold.

    The means and the counters are concatenated and fused by a residual MLP. Masks are as in
    ZonesNetwork: the mean of an empty zone is 0.
    """

    Options = PooledOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = PooledOptions.model_validate(spec.options)
        width, dropout = options.hidden_dim, options.dropout

        def layers(num_layers: int) -> Transformer:
            return Transformer(num_layers, width, options.num_heads, dropout, options.feed_forward)

        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.queue_place = nn.Parameter(0.1 * torch.randn(QUEUE_SLOTS, width))
        self.hand_in_order = HandOrder()
        self.counters = nn.Linear(len(COUNTER_SCALES) + NUM_SETS, width)
        self.queue = layers(options.queue_layers)
        self.bar = layers(options.bar_layers)
        self.thats_it = layers(options.bar_layers)
        self.hand = layers(options.hand_layers)
        self.opponent = layers(options.hand_layers)
        self.fusion = ResidualMlp(NUM_ZONES * width, width, options.fusion_layers, dropout)
        self.heads = Heads(width, spec, options.use_dueling, options.outcome_layers, dropout)
        self.auxiliary = AuxiliaryHeads(width) if options.use_auxiliary_heads else None

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        in_queue_BQZ = is_at_BZP[:, :, FRONT_OF_QUEUE:].transpose(1, 2)
        in_hand_BHM = self.hand_in_order(is_at_BZP[:, :NUM_SPECIES, IN_HAND])
        sizes_BS = is_at_BZP[:, :, :NUM_SETS].sum(dim=1)

        cards_ZW = self.card()
        zones = [
            pooled(self.queue, in_queue_BQZ @ cards_ZW + self.queue_place, in_queue_BQZ.sum(dim=2)),
            pooled(self.bar, cards_ZW, is_at_BZP[:, :, IN_BAR]),
            pooled(self.thats_it, cards_ZW, is_at_BZP[:, :, IN_THATS_IT]),
            pooled(self.hand, in_hand_BHM @ cards_ZW[:NUM_SPECIES], in_hand_BHM.sum(dim=2)),
            pooled(self.opponent, cards_ZW[NUM_SPECIES:], is_at_BZP[:, NUM_SPECIES:, UNSEEN]),
            self.counters(torch.cat([counters_BG, sizes_BS / NUM_CARDS], dim=1)),
        ]
        return self.output_of(with_auxiliary, self.fusion(torch.cat(zones, dim=1)))


def pooled(encode: Transformer, tokens: Tensor, there_BT: Tensor) -> Tensor:
    """The mean of the encoded tokens that are there, [B, W]; 0 where none is.

    Tokens are [B, T, W], or [T, W] where all positions share them. Bytes that no game has may put
    several cards in one place, which then counts once.
    """
    there_BT = there_BT.clamp(max=1)
    # Not len(there_BT), which would fix the batch size of an export.
    tokens_BTW = tokens.expand(there_BT.shape[0], -1, -1)
    encoded_BTW = encode(tokens_BTW, key_mask(there_BT))
    sum_BW: Tensor = (there_BT[:, None] @ encoded_BTW)[:, 0]
    return sum_BW / there_BT.sum(dim=1, keepdim=True).clamp(min=1)
