"""What all networks for Beasty Bar share: how its bytes are read, the heads, and their losses.

An observation is a byte per card (the observer's twelve by strength, then the other's) that says
where the card is, then six counters; cpp/games/beastybar.h has the numbers.

Shapes: B batch, N bytes, Z the 24 cards, P places, G features of the counters, W width,
A actions, O outcomes, E ends of a card.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional

from zerofleet.errors import Unsupported
from zerofleet.nets.layers import final_layer
from zerofleet.nets.network import AuxiliaryBatch, Mean, Network, Output, mean_over
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
"""The most that each counter can be: the other's hand, own and the other's pile, own and the
other's points, and whether the observer is to move."""
NUM_INPUTS = NUM_CARDS * NUM_PLACES + len(COUNTER_SCALES)
"""Of a layer that reads everything at once, see `all_at_once`."""
OWN_POINTS, OTHERS_POINTS = NUM_CARDS + 3, NUM_CARDS + 4

MARGIN_SCALE = 10.0
"""Points that count as 1 in the margin."""
NUM_ENDS = 3
"""Where a card is when the game is over: in the bar, in That's It, elsewhere."""


class Bytes(nn.Module):
    """Reads an observation."""

    places_P: Tensor
    scales_G: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("places_P", torch.arange(NUM_PLACES), persistent=False)
        self.register_buffer("scales_G", 1 / torch.tensor(COUNTER_SCALES), persistent=False)

    def forward(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        """Where each card is, one-hot [B, Z, P], and the counters [B, G], mostly within 0 and 1."""
        places_BZ1 = observations_BN[:, :NUM_CARDS, None].to(self.places_P.dtype)
        is_at_BZP = (places_BZ1 == self.places_P).to(self.scales_G.dtype)
        counters_BG = observations_BN[:, NUM_CARDS:].to(self.scales_G.dtype) * self.scales_G
        return is_at_BZP, counters_BG


def all_at_once(is_at_BZP: Tensor, counters_BG: Tensor) -> Tensor:
    """What `Bytes` read, for one layer: [B, NUM_INPUTS]."""
    return torch.cat([is_at_BZP.flatten(1), counters_BG], dim=1)


class CardEmbedding(nn.Module):
    """What a card is, apart from where it is: its species and whose it is."""

    def __init__(self, species_embedding_dim: int, width: int) -> None:
        super().__init__()
        self.species = nn.Parameter(torch.randn(NUM_SPECIES, species_embedding_dim))
        self.widen = nn.Linear(species_embedding_dim, width)
        self.owner = nn.Parameter(0.1 * torch.randn(2, 1, width))

    def forward(self) -> Tensor:
        """[Z, W], in the order of an observation."""
        cards_ZW: Tensor = (self.widen(self.species) + self.owner).flatten(0, 1)
        return cards_ZW


class Heads(nn.Module):
    """Policy and outcomes from one vector that stands for the whole position."""

    def __init__(self, width: int, spec: NetworkSpec, use_dueling: bool) -> None:
        super().__init__()
        self.of_state = nn.Linear(width, width)
        self.of_actions = nn.Linear(width, width) if use_dueling else None
        self.outcomes = final_layer(nn.Linear(width, spec.num_outcomes))
        self.policy = final_layer(nn.Linear(width, spec.num_actions))

    def forward(self, summary_BW: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the policy [B, A] and of the outcomes [B, O]."""
        state_BW = functional.relu(self.of_state(summary_BW))
        if self.of_actions is None:
            return self.policy(state_BW), self.outcomes(state_BW)
        logits_BA = self.policy(functional.relu(self.of_actions(summary_BW)))
        return logits_BA - logits_BA.mean(dim=1, keepdim=True), self.outcomes(state_BW)


class AuxiliaryHeads(nn.Module):
    """The final margin, and where each card ends."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.margin = final_layer(nn.Linear(width, 1))
        self.card_destination = final_layer(nn.Linear(width, NUM_CARDS * NUM_ENDS))

    def forward(self, summary_BW: Tensor) -> dict[str, Tensor]:
        return {
            "margin": self.margin(summary_BW).squeeze(1),
            "card_destination": self.card_destination(summary_BW).unflatten(
                1, (NUM_CARDS, NUM_ENDS)
            ),
        }


class BeastyBarNetwork(Network):
    """Reads bytes, and where a network does not do it better answers from one vector that stands
    for the whole position."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__(spec)
        if spec.game != "beastybar":
            raise Unsupported(f"a {spec.kind} network is for beastybar, not for {spec.game}")
        self.bytes = Bytes()

    def add_heads(self, width: int, use_dueling: bool, use_auxiliary_heads: bool) -> None:
        self.heads = Heads(width, self.spec, use_dueling)
        self.auxiliary: AuxiliaryHeads | None = (
            AuxiliaryHeads(width) if use_auxiliary_heads else None
        )

    def answer(self, summary_BW: Tensor, with_auxiliary: bool | None) -> Output:
        auxiliary = {}
        if self.auxiliary is not None and self.wants_auxiliary(with_auxiliary):
            auxiliary = self.auxiliary(summary_BW)
        policy_logits_BA, outcome_logits_BO = self.heads(summary_BW)
        return Output(policy_logits_BA, outcome_logits_BO, auxiliary)

    def auxiliary_losses(self, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
        return auxiliary_losses(output, batch)


def auxiliary_losses(output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
    """Of the heads `margin` [B] and `card_destination` [B, Z, E], where the output has them.

    A row counts where its final observation has cards at all.
    """
    if not output.auxiliary:
        return {}
    final_BN = batch.final_observation_BN
    places_BZ = final_BN[:, :NUM_CARDS].long()
    known_B = (places_BZ.sum(dim=1) > 0).float()

    points_BN = final_BN.float()
    margin_B = (points_BN[:, OWN_POINTS] - points_BN[:, OTHERS_POINTS]) / MARGIN_SCALE
    margin_losses_B = functional.mse_loss(
        output.auxiliary["margin"].float(), margin_B, reduction="none"
    )

    ends_BZ = 2 - 2 * (places_BZ == IN_BAR).long() - (places_BZ == IN_THATS_IT).long()
    destination_losses_B = functional.cross_entropy(
        output.auxiliary["card_destination"].float().transpose(1, 2), ends_BZ, reduction="none"
    ).mean(dim=1)
    return {
        "margin": mean_over(known_B, margin_losses_B),
        "card_destination": mean_over(known_B, destination_losses_B),
    }
