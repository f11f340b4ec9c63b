"""Networks for Beasty Bar: zones that are empty or full, order, auxiliary losses, parameters."""

from pathlib import Path

import numpy as np
import pytest
import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.nets import beastybar
from zerofleet.nets.beastybar_pooled import pooled

PRESETS = ["tiny", "cards-tiny", "places-tiny", "pooled-tiny"]


@pytest.fixture(params=PRESETS)
def network(request, one_thread_and_the_same_weights):
    return nets.build(zf.games.get("beastybar"), request.param)


def test_places_are_numbered_as_in_the_game():
    position = zf.games.get("beastybar").from_text(
        "player=0 queue=lion0,skunk1 bar=zebra0 thats_it=monkey1 "
        "hand0=hippo pile0=seal hand1=parrot"
    )
    places = position.observe(0)[:24].tolist()
    species = {"skunk": 0, "parrot": 1, "monkey": 3, "seal": 5, "zebra": 6, "hippo": 10, "lion": 11}
    assert places[species["lion"]] == beastybar.FRONT_OF_QUEUE
    assert places[12 + species["skunk"]] == beastybar.FRONT_OF_QUEUE + 1
    assert places[species["zebra"]] == beastybar.IN_BAR
    assert places[12 + species["monkey"]] == beastybar.IN_THATS_IT
    assert places[species["hippo"]] == beastybar.IN_HAND
    assert places[species["seal"]] == beastybar.IN_PILE
    assert places[12 + species["parrot"]] == beastybar.UNSEEN
    assert places.count(beastybar.ABSENT) == 24 - 7


def test_all_cards_in_any_one_place_and_all_other_zones_empty_give_finite_numbers(network):
    rows = torch.zeros(beastybar.NUM_PLACES + 1, 30, dtype=torch.uint8)
    for place in range(beastybar.NUM_PLACES):
        rows[place, :24] = place
    rows[-1] = 255  # bytes that no game has
    for network_mode in (network.train(), network.eval()):
        output = network_mode(rows, with_auxiliary=True)
        for answer in (*output[:2], *output.auxiliary.values()):
            assert answer.isfinite().all()


def test_the_order_of_the_queue_matters(network):
    rows = torch.zeros(2, 30, dtype=torch.uint8)
    rows[0, 3], rows[0, 7] = beastybar.FRONT_OF_QUEUE, beastybar.FRONT_OF_QUEUE + 1
    rows[1, 3], rows[1, 7] = beastybar.FRONT_OF_QUEUE + 1, beastybar.FRONT_OF_QUEUE
    one, other = network.eval()(rows).policy_logits_BA
    assert (one - other).abs().max() > 1e-5


def test_zones_take_the_cards_of_a_hand_one_by_one():
    network = nets.build(zf.games.get("beastybar"), "tiny")
    hands = [[0, 3, 7, 11], [5], []]
    in_hand = torch.zeros(3, 12)
    for row, cards in enumerate(hands):
        in_hand[row, cards] = 1
    hands_in_order = network.hand_in_order(in_hand)
    taken = [[one.nonzero().flatten().tolist() for one in hand] for hand in hands_in_order]
    assert taken == [[[0], [3], [7], [11]], [[5], [], [], []], [[], [], [], []]]


def test_a_pooled_zone_without_cards_is_0_and_one_with_a_card_is_not():
    network = nets.build(zf.games.get("beastybar"), "pooled-tiny").eval()
    cards_ZW = network.card()
    in_zone_BZ = torch.zeros(2, 24)
    in_zone_BZ[1, 5] = 1
    empty_W, one_W = pooled(network.bar, cards_ZW, in_zone_BZ)
    assert empty_W.abs().max() == 0
    # A card that attends to itself alone is encoded as if it were the only token.
    torch.testing.assert_close(one_W, network.bar(cards_ZW[None, 5:6])[0, 0])


LAYER = 4 * (256 * 256 + 256) + (256 * 1024 + 1024) + (1024 * 256 + 256) + 2 * 512
"""A transformer layer, 256 wide: query, key, value and output; feed-forward; two norms."""
BLOCK = 2 * (256 * 256 + 256) + 512
"""A residual block, 256 wide: two linear layers and a norm."""
PARTS = {
    "cards": 12 * 64 + (64 * 256 + 256) + 2 * 256,
    "queue": 6 * LAYER + 512 + 4 * 256,
    "bar": 2 * LAYER + 512,
    "That's It": 2 * LAYER + 512,
    "hand": 2 * LAYER + 512,
    "opponent's hand": 2 * LAYER + 512,
    "counters": 12 * 256 + 256,
    "fusion": (6 * 256 * 256 + 256) + 4 * BLOCK + 512,
    "policy": (256 * 256 + 256) + (256 * 38 + 38),
    "outcomes": (256 * 256 + 256) + 3 * BLOCK + 512 + (256 * 3 + 3),
    "auxiliary heads": (256 + 1) + (256 * 72 + 72),
}
"""Of `pooled-large`, by hand."""


def test_the_published_network_has_the_parameters_that_its_layers_say_and_the_page_too():
    network = nets.build(zf.games.get("beastybar"), "pooled-large")

    def count(*parts):
        return sum(parameter.numel() for part in parts for parameter in part.parameters())

    heads = network.heads
    assert {
        "cards": count(network.card),
        "queue": count(network.queue) + network.queue_place.numel(),
        "bar": count(network.bar),
        "That's It": count(network.thats_it),
        "hand": count(network.hand),
        "opponent's hand": count(network.opponent),
        "counters": count(network.counters),
        "fusion": count(network.fusion),
        "policy": count(heads.of_actions, heads.policy),
        "outcomes": count(heads.of_state, heads.outcomes),
        "auxiliary heads": count(network.auxiliary),
    } == PARTS
    assert sum(PARTS.values()) == network.num_parameters

    page = Path(__file__).parents[2] / "docs" / "experiments" / "beastybar-network.md"
    section = page.read_text().partition("## The published network")[2].partition("\n## ")[0]
    rows = [
        [cell.strip() for cell in line.strip().strip("|").split("|")]
        for line in section.splitlines()
        if line.strip().startswith("|")
    ]
    counted = {cells[0]: cells[2:4] for cells in rows[2:]}
    here, published = (
        {part: int(cells[column].replace(",", "")) for part, cells in counted.items()}
        for column in (0, 1)
    )
    assert here == PARTS | {"all": network.num_parameters}
    assert sum(published.values()) == 2 * published["all"]
    assert published["all"] == pytest.approx(12.86e6, abs=5e3)


def finished_game():
    game = zf.games.get("beastybar")
    position = game.new_position(seed=3)
    while position.to_move != zf.OVER:
        position.play(position.legal_actions()[0])
    return position


def test_the_losses_are_zero_for_a_network_that_predicts_the_final_position(make_batch):
    position = finished_game()
    final_BN = torch.from_numpy(np.stack([position.observe(0), position.observe(1)]))
    description = position.describe()
    points = description["points"]
    margin_B = torch.tensor([points[0] - points[1], points[1] - points[0]]) / 10
    destination_BZE = torch.zeros(2, 24, 3)
    for observer in (0, 1):
        for card in range(24):
            owner = observer if card < 12 else 1 - observer
            name = SPECIES[card % 12] + str(owner)
            end = 0 if name in description["bar"] else 1 if name in description["thats_it"] else 2
            destination_BZE[observer, card, end] = 50
    output = nets.Output(
        torch.zeros(2, 38),
        torch.zeros(2, 3),
        {"margin": margin_B, "card_destination": destination_BZE},
    )
    batch = make_batch(reply_B=torch.full((2,), -1), final_observation_BN=final_BN)
    losses = beastybar.auxiliary_losses(output, batch)
    assert losses["margin"].value == pytest.approx(0, abs=1e-6)
    assert losses["card_destination"].value == pytest.approx(0, abs=1e-6)


def test_rows_without_a_final_observation_do_not_count(make_batch):
    final_BN = torch.from_numpy(np.stack([finished_game().observe(0), np.zeros(30, np.uint8)]))
    batch = make_batch(reply_B=torch.full((2,), -1), final_observation_BN=final_BN)
    own, others = int(final_BN[0, 27]), int(final_BN[0, 28])

    def losses(wrong_by):
        margin_B = torch.tensor([(own - others) / 10 + 2, wrong_by])
        auxiliary = {"margin": margin_B, "card_destination": torch.zeros(2, 24, 3)}
        output = nets.Output(torch.zeros(2, 38), torch.zeros(2, 3), auxiliary)
        return beastybar.auxiliary_losses(output, batch)

    for wrong_by in (0.0, 1000.0):
        assert losses(wrong_by)["margin"].value == pytest.approx(4)
        assert losses(wrong_by)["card_destination"].value == pytest.approx(np.log(3))


SPECIES = [
    "skunk",
    "parrot",
    "kangaroo",
    "monkey",
    "chameleon",
    "seal",
    "zebra",
    "giraffe",
    "snake",
    "crocodile",
    "hippo",
    "lion",
]
