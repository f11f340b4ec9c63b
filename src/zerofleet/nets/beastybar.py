"""The networks for Beasty Bar: `places`, `cards` and `zones`; `pooled` is in beastybar_pooled.py.

An observation has one byte per card (the observer's twelve by strength, then the opponent's) that
says where the card is, then six counters; cpp/games/beastybar.h defines the numbers. So a position
is 24 choices of ten places and a few counters.

- `places`: a residual MLP over the one-hot places. On a CPU it is ten times as fast as attention.
- `cards`: a transformer with one token per card beside a `places` trunk.
- `zones`: a transformer per zone of the table, and one that fuses them.

The auxiliary heads predict the final margin and where each card ends: KataGo's auxiliary score and
ownership targets for a card game (arXiv:1902.10565).

Shapes: B batch, N bytes, Z the 24 cards, P places, G counters, I inputs, W width, V width of the
state, A actions, O outcomes, E destinations, M the observer's 12 cards, H cards that a hand holds;
those of `zones` are named at its class.
"""

import torch
from pydantic import Field, model_validator
from torch import Tensor, nn
from torch.nn import functional

from zerofleet.errors import Unsupported
from zerofleet.nets.layers import FORBIDDEN, ResidualMlp, Transformer
from zerofleet.nets.network import (
    AuxiliaryBatch,
    Mean,
    Network,
    NetworkOptions,
    Output,
    final_layer,
    mean_over,
)
from zerofleet.weights.spec import NetworkSpec

NUM_SPECIES = 12
NUM_CARDS = 2 * NUM_SPECIES

ABSENT, UNSEEN, IN_PILE, IN_HAND, IN_BAR, IN_THATS_IT, FRONT_OF_QUEUE = range(7)
NUM_SETS = FRONT_OF_QUEUE
"""Places without an order; the cards in one of them are a set."""
QUEUE_SLOTS = 4
HAND_SIZE = 4
"""The most cards that a hand holds."""
NUM_PLACES = NUM_SETS + QUEUE_SLOTS

COUNTER_SCALES = (4.0, 8.0, 8.0, 36.0, 36.0, 1.0)
"""The maximum of each counter: the opponent's hand, own and the opponent's pile, own and the
opponent's points, and whether the observer is to move."""
NUM_INPUTS = NUM_CARDS * NUM_PLACES + len(COUNTER_SCALES)
"""Of `flat_inputs`."""
OWN_POINTS, OPPONENT_POINTS = NUM_CARDS + 3, NUM_CARDS + 4

MARGIN_SCALE = 10.0
"""Points that count as 1 in the margin."""
NUM_DESTINATIONS = 3
"""Where a card is when the game is over: in the bar, in That's It, elsewhere."""


class Bytes(nn.Module):
    """Decodes an observation."""

    places_P: Tensor
    scales_G: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places_P", torch.arange(NUM_PLACES), persistent=False)
        self.register_buffer("scales_G", 1 / torch.tensor(COUNTER_SCALES), persistent=False)

    def forward(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        """Where each card is, one-hot [B, Z, P], and the scaled counters [B, G]."""
        places_BZ1 = observations_BN[:, :NUM_CARDS, None].to(self.places_P.dtype)
        is_at_BZP = (places_BZ1 == self.places_P).to(self.scales_G.dtype)
        counters_BG = observations_BN[:, NUM_CARDS:].to(self.scales_G.dtype) * self.scales_G
        return is_at_BZP, counters_BG


def flat_inputs(is_at_BZP: Tensor, counters_BG: Tensor) -> Tensor:
    """What `Bytes` decoded as one vector per position, [B, NUM_INPUTS]."""
    return torch.cat([is_at_BZP.flatten(1), counters_BG], dim=1)


class CardEmbedding(nn.Module):
    """What a card is, apart from where it is: its species and its owner."""

    def __init__(self, species_embedding_dim: int, width: int) -> None:
        super().__init__()
        self.species = nn.Parameter(torch.randn(NUM_SPECIES, species_embedding_dim))
        self.widen = nn.Linear(species_embedding_dim, width)
        self.owner = nn.Parameter(0.1 * torch.randn(2, 1, width))

    def forward(self) -> Tensor:
        """[Z, W], in the order of an observation."""
        cards_ZW: Tensor = (self.widen(self.species) + self.owner).flatten(0, 1)
        return cards_ZW


class HandOrder(nn.Module):
    """Sorts the cards of the observer's hand by strength."""

    up_to_MM: Tensor
    ordinals_H1: Tensor

    def __init__(self) -> None:
        super().__init__()
        up_to_MM = torch.ones(NUM_SPECIES, NUM_SPECIES).triu()
        self.register_buffer("up_to_MM", up_to_MM, persistent=False)
        ordinals_H1 = torch.arange(1.0, HAND_SIZE + 1)[:, None]
        self.register_buffer("ordinals_H1", ordinals_H1, persistent=False)

    def forward(self, in_hand_BM: Tensor) -> Tensor:
        """The first card of the hand, the second and so on, one-hot [B, H, M]."""
        nth_BM = in_hand_BM @ self.up_to_MM
        return in_hand_BM[:, None] * (nth_BM[:, None] == self.ordinals_H1)


class Heads(nn.Module):
    """Policy and outcomes from one vector per position.

    `use_dueling` gives policy and outcomes a hidden layer each and centres the policy logits, after
    the dueling networks of Wang et al. (arXiv:1511.06581). `num_blocks` residual blocks follow the
    hidden layer of the outcomes.
    """

    def __init__(
        self,
        width: int,
        spec: NetworkSpec,
        use_dueling: bool,
        num_blocks: int = 0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.of_state = (
            ResidualMlp(width, width, num_blocks, dropout)
            if num_blocks
            else nn.Linear(width, width)
        )
        self.of_actions = nn.Linear(width, width) if use_dueling else None
        self.outcomes = final_layer(nn.Linear(width, spec.num_outcomes))
        self.policy = final_layer(nn.Linear(width, spec.num_actions))

    def forward(self, summary_BW: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits [B, A] and outcome logits [B, O]."""
        state_BW = functional.relu(self.of_state(summary_BW))
        if self.of_actions is None:
            return self.policy(state_BW), self.outcomes(state_BW)
        logits_BA = self.policy(functional.relu(self.of_actions(summary_BW)))
        return logits_BA - logits_BA.mean(dim=1, keepdim=True), self.outcomes(state_BW)


class AuxiliaryHeads(nn.Module):
    """The final margin [B] and where each card ends [B, Z, E], from one vector per position."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.margin = final_layer(nn.Linear(width, 1))
        self.card_destination = final_layer(nn.Linear(width, NUM_CARDS * NUM_DESTINATIONS))

    def forward(self, summary_BW: Tensor) -> dict[str, Tensor]:
        margin_B = self.margin(summary_BW).squeeze(1)
        destinations_BI = self.card_destination(summary_BW)
        destinations_BZE = destinations_BI.unflatten(1, (NUM_CARDS, NUM_DESTINATIONS))
        return {"margin": margin_B, "card_destination": destinations_BZE}


class TokenAuxiliaryHeads(nn.Module):
    """The final margin [B] from the state, and where each card ends [B, Z, E] from its token."""

    def __init__(self, state_width: int, width: int) -> None:
        super().__init__()
        self.margin = final_layer(nn.Linear(state_width, 1))
        self.card_destination = final_layer(nn.Linear(width, NUM_DESTINATIONS))

    def forward(self, summary_BV: Tensor, tokens_BZW: Tensor) -> dict[str, Tensor]:
        return {
            "margin": self.margin(summary_BV).squeeze(1),
            "card_destination": self.card_destination(tokens_BZW),
        }


def auxiliary_losses(output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
    """Squared error of `margin` [B], cross-entropy of `card_destination` [B, Z, E].

    Rows whose final observation is empty have no target.
    """
    if not output.auxiliary:
        return {}
    final_BN = batch.final_observation_BN
    places_BZ = final_BN[:, :NUM_CARDS].long()
    known_B = (places_BZ.sum(dim=1) > 0).float()

    points_BN = final_BN.float()
    margin_B = (points_BN[:, OWN_POINTS] - points_BN[:, OPPONENT_POINTS]) / MARGIN_SCALE
    margin_losses_B = functional.mse_loss(
        output.auxiliary["margin"].float(), margin_B, reduction="none"
    )

    destinations_BZ = 2 - 2 * (places_BZ == IN_BAR).long() - (places_BZ == IN_THATS_IT).long()
    destination_losses_B = functional.cross_entropy(
        output.auxiliary["card_destination"].float().transpose(1, 2),
        destinations_BZ,
        reduction="none",
    ).mean(dim=1)
    return {
        "margin": mean_over(known_B, margin_losses_B),
        "card_destination": mean_over(known_B, destination_losses_B),
    }


class BeastyBarNetwork(Network):
    """What all of them share: decoding, heads and auxiliary losses. Each builds its own trunk."""

    heads: Heads
    auxiliary: AuxiliaryHeads | TokenAuxiliaryHeads | None

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        if spec.game != "beastybar":
            raise Unsupported(f"a {spec.kind} network is for beastybar, not for {spec.game}")
        self.bytes = Bytes()

    def output_of(self, with_auxiliary: bool | None, summary_BW: Tensor, *tokens: Tensor) -> Output:
        """What the heads predict from a summary of each position, and the tokens that they read."""
        auxiliary = {}
        if self.auxiliary is not None and self.wants_auxiliary(with_auxiliary):
            auxiliary = self.auxiliary(summary_BW, *tokens)
        policy_logits_BA, outcome_logits_BO = self.heads(summary_BW)
        return Output(policy_logits_BA, outcome_logits_BO, auxiliary)

    def auxiliary_losses(self, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
        return auxiliary_losses(output, batch)


class PlacesOptions(NetworkOptions):
    width: int = Field(128, ge=8, le=8192)
    """Of every layer. Doubling it costs up to four times as much."""
    num_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout rate in training. Raise it where a network overfits few games."""
    use_dueling: bool = True
    """A hidden layer each for policy and outcomes, the policy logits centred on their mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""


class PlacesNetwork(BeastyBarNetwork):
    Options = PlacesOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = PlacesOptions.model_validate(spec.options)
        self.trunk = ResidualMlp(NUM_INPUTS, options.width, options.num_blocks, options.dropout)
        self.heads = Heads(options.width, spec, options.use_dueling)
        self.auxiliary = AuxiliaryHeads(options.width) if options.use_auxiliary_heads else None

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        inputs_BI = flat_inputs(*self.bytes(observations_BN))
        trunk_BW = self.trunk(inputs_BI.to(self.trunk.first.weight.dtype))
        return self.output_of(with_auxiliary, trunk_BW)


class CardsOptions(NetworkOptions):
    width: int = Field(64, ge=8, le=2048)
    """Of a token. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Attention heads; they must divide the width. Few are faster."""
    num_layers: int = Field(2, ge=1, le=100)
    state_width: int = Field(128, ge=8, le=8192)
    """Of the trunk that reads all cards, and of the heads. Costs little."""
    state_blocks: int = Field(2, ge=1, le=100)
    """Residual blocks of two layers each in that trunk."""
    species_embedding_dim: int = Field(16, ge=1)
    """Width of a species embedding before its projection to a token."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout rate in training."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""

    @model_validator(mode="after")
    def heads_divide_width(self) -> "CardsOptions":
        if self.width % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} must divide width {self.width}")
        return self


class CardsNetwork(BeastyBarNetwork):
    """A transformer over 24 card tokens, without padding or masks, beside a `places` trunk.

    The trunk's state is added to every token; pooled tokens are added to the state.
    """

    Options = CardsOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = CardsOptions.model_validate(spec.options)
        width, state_width = options.width, options.state_width
        self.state = ResidualMlp(NUM_INPUTS, state_width, options.state_blocks, options.dropout)
        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.place = nn.Parameter(0.1 * torch.randn(NUM_PLACES, width))
        self.card_in_place = nn.Parameter(0.1 * torch.randn(NUM_CARDS, NUM_PLACES, width))
        self.state_to_tokens = nn.Linear(state_width, width)
        self.transformer = Transformer(
            options.num_layers, width, options.num_heads, options.dropout
        )
        self.pooled_to_state = nn.Linear(2 * width + state_width, state_width)
        self.heads = Heads(state_width, spec, use_dueling=True)
        self.auxiliary = (
            TokenAuxiliaryHeads(state_width, width) if options.use_auxiliary_heads else None
        )

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        state_BV = self.state(flat_inputs(is_at_BZP, counters_BG))
        in_place_BZW = torch.einsum("bzp,zpw->bzw", is_at_BZP, self.place + self.card_in_place)
        state_B1W = self.state_to_tokens(state_BV)[:, None]
        tokens_BZW = self.transformer(self.card() + in_place_BZW + state_B1W)
        # Not amax: see `pooled` in nets/board.py.
        max_BW = tokens_BZW.max(dim=1).values
        pooled_BI = torch.cat([tokens_BZW.mean(dim=1), max_BW, state_BV], dim=1)
        summary_BV = state_BV + functional.relu(self.pooled_to_state(pooled_BI))
        return self.output_of(with_auxiliary, summary_BV, tokens_BZW)


class ZonesOptions(NetworkOptions):
    hidden_dim: int = Field(64, ge=8, le=2048)
    """Width of a token. Doubling it costs about four times as much."""
    num_heads: int = Field(2, ge=1)
    """Attention heads; they must divide hidden_dim. Few are faster."""
    queue_layers: int = Field(1, ge=0, le=100)
    """Over the places in the queue."""
    bar_layers: int = Field(1, ge=0, le=100)
    """Over the cards in bar and That's It. The most expensive ones: 24 tokens."""
    hand_layers: int = Field(1, ge=0, le=100)
    """Over the cards in the hand."""
    fusion_layers: int = Field(1, ge=1, le=100)
    """Over all tokens."""
    dropout: float = Field(0.0, ge=0, lt=1)
    """Dropout rate in training."""
    species_embedding_dim: int = Field(16, ge=1)
    """Width of a species embedding before its projection to a token."""
    use_dueling: bool = True
    """A hidden layer each for policy and outcomes, the policy logits centred on their mean."""
    use_auxiliary_heads: bool = True
    """Predict the final margin and where each card ends, in training. Costs nothing in play."""

    @model_validator(mode="after")
    def heads_divide_width(self) -> "ZonesOptions":
        if self.hidden_dim % self.num_heads:
            raise ValueError(f"num_heads {self.num_heads} must divide hidden_dim {self.hidden_dim}")
        return self


class ZonesNetwork(BeastyBarNetwork):
    """A transformer per zone of the table, then one over all of them.

    - The queue: a token per place in it, in order.
    - Sets (bar, That's It, piles, cards not seen): in one pass, a token per card that attends to
      the cards of the same set; then their mean, a token per set.
    - The hand: a token per card in it, by strength; at most four.
    - The fusion: all of these and a token for the counters; their mean stands for the position.

    Masks are added to logits or multiplied; nothing is indexed by data. A token that may attend to
    nothing attends to everything equally, and the mean of an empty set is 0, so an empty zone gives
    finite numbers.

    Shapes: Q places in the queue, S sets, T tokens of the fusion.
    """

    Options = ZonesOptions

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        options = ZonesOptions.model_validate(spec.options)
        width = options.hidden_dim

        def layers(num_layers: int) -> Transformer:
            return Transformer(num_layers, width, options.num_heads, options.dropout)

        self.card = CardEmbedding(options.species_embedding_dim, width)
        self.queue_place = nn.Parameter(0.1 * torch.randn(QUEUE_SLOTS, width))
        self.set_place = nn.Parameter(0.1 * torch.randn(NUM_SETS, width))
        self.hand_in_order = HandOrder()
        self.counters = nn.Linear(len(COUNTER_SCALES) + NUM_SETS, width)
        self.queue = layers(options.queue_layers)
        self.sets = layers(options.bar_layers)
        self.hand = layers(options.hand_layers)
        self.fusion = layers(options.fusion_layers)
        self.heads = Heads(width, spec, options.use_dueling)
        self.auxiliary = AuxiliaryHeads(width) if options.use_auxiliary_heads else None

    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        is_at_BZP, counters_BG = self.bytes(observations_BN)
        in_queue_BQZ = is_at_BZP[:, :, FRONT_OF_QUEUE:].transpose(1, 2)
        in_set_BZS = is_at_BZP[:, :, :NUM_SETS]
        in_hand_BHM = self.hand_in_order(is_at_BZP[:, :NUM_SPECIES, IN_HAND])
        taken_BQ = in_queue_BQZ.sum(dim=2).clamp(max=1)
        held_BH = in_hand_BHM.sum(dim=2)
        sizes_BS = in_set_BZS.sum(dim=1)

        cards_ZW = self.card()
        always_BS = torch.ones_like(sizes_BS)
        sets_BSW = self.encode_sets(cards_ZW, in_set_BZS, sizes_BS)
        queue_BQW = self.queue(in_queue_BQZ @ cards_ZW + self.queue_place, key_mask(taken_BQ))
        in_place_BHW = held_BH[:, :, None] * self.set_place[IN_HAND]
        hand_BHW = self.hand(in_hand_BHM @ cards_ZW[:NUM_SPECIES] + in_place_BHW, key_mask(held_BH))
        counters_BG = torch.cat([counters_BG, sizes_BS / NUM_CARDS], dim=1)
        counters_B1W = self.counters(counters_BG)[:, None]

        tokens_BTW = torch.cat([counters_B1W, sets_BSW, queue_BQW, hand_BHW], dim=1)
        there_BT = torch.cat([always_BS[:, :1], always_BS, taken_BQ, held_BH], dim=1)
        fused_BTW = self.fusion(tokens_BTW, key_mask(there_BT))
        summary_BW = (there_BT[:, None] @ fused_BTW)[:, 0] / there_BT.sum(dim=1, keepdim=True)

        return self.output_of(with_auxiliary, summary_BW)

    def encode_sets(self, cards_ZW: Tensor, in_set_BZS: Tensor, sizes_BS: Tensor) -> Tensor:
        """The mean of the encoded cards of each set, plus the set's embedding, [B, S, W]."""
        in_same_set_BZZ = in_set_BZS @ in_set_BZS.transpose(1, 2)
        cards_BZW = self.sets(
            cards_ZW + in_set_BZS @ self.set_place, attention_mask(in_same_set_BZZ)[:, None]
        )
        sums_BSW: Tensor = in_set_BZS.transpose(1, 2) @ cards_BZW
        return sums_BSW / sizes_BS.clamp(min=1)[:, :, None] + self.set_place


def attention_mask(allowed: Tensor) -> Tensor:
    """A bias for attention logits: 0 where allowed is 1, FORBIDDEN where it is 0."""
    return FORBIDDEN * (1 - allowed)


def key_mask(there_BT: Tensor) -> Tensor:
    """The same where all tokens may attend to those that are there, [B, 1, 1, T]."""
    return attention_mask(there_BT)[:, None, None]
