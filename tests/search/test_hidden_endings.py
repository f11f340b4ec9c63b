"""Endings of Beasty Bar with hidden cards, in which the opponent's reply decides.

What an action is worth is worked out by dealing the opponent's cards in every possible way.
"""

import itertools
import random
from collections.abc import Iterator
from statistics import fmean
from typing import Any, Literal

import pytest

import zerofleet as zf

Root = Literal["puct", "gumbel"]
OpponentNodes = Literal["pooled", "per_hand"]

GAME = zf.games.get("beastybar")
SPECIES = [
    "lion", "hippo", "crocodile", "snake", "giraffe", "zebra",
    "seal", "chameleon", "monkey", "kangaroo", "parrot", "skunk",
]  # fmt: skip


def after(position: zf.games.Position, action: int) -> zf.games.Position:
    played = position.copy()
    played.play(action)
    return played


def deals(position: zf.games.Position) -> list[zf.games.Position]:
    """Every way in which the opponent's cards may lie, each as likely. The own pile is empty."""
    described: dict[str, Any] = position.describe()
    other = 1 - position.to_move
    size = len(described["hands"][other])
    dealt = []
    for cards in itertools.permutations(described["hands"][other] + described["piles"][other]):
        hands, piles = list(described["hands"]), list(described["piles"])
        hands[other], piles[other] = list(cards[:size]), list(cards[size:])
        dealt.append(GAME.from_describe(described | {"hands": hands, "piles": piles}))
    return dealt


def value_of_reply(position: zf.games.Position, player: int) -> float | None:
    """What the opponent, who sees its hand, leaves the player; None if the game continues."""
    if position.to_move == zf.OVER:
        return position.rewards()[player]
    ends = [after(position, action) for action in position.legal_actions()]
    if position.to_move == player or any(end.to_move != zf.OVER for end in ends):
        return None
    return min(end.rewards()[player] for end in ends)


def true_values(position: zf.games.Position) -> dict[int, float] | None:
    """What each action is worth to the player to move; None if the reply does not decide."""
    player = position.to_move
    values = {}
    for action in position.legal_actions():
        replies = [value_of_reply(after(deal, action), player) for deal in deals(position)]
        if None in replies:
            return None
        values[action] = fmean(reply for reply in replies if reply is not None)
    return values


def endings(
    num_own: int, num_others: int, player: int
) -> Iterator[tuple[zf.games.Position, dict[int, float]]]:
    """Positions in which it matters how the cards lie, and true values. So many cards are in the
    hands; the opponent has one more in its pile."""
    rng = random.Random(1)
    for _ in range(400):
        own = [f"{species}{player}" for species in rng.sample(SPECIES, 5)]
        others = [f"{species}{1 - player}" for species in rng.sample(SPECIES, 6)]
        hands = [own[3 : 3 + num_own], others[3 : 3 + num_others]]
        piles = [[], [others[3 + num_others]]]
        position = GAME.from_describe(
            {
                "queue": rng.sample(own[:2] + others[:2], 3),
                "bar": [own[2], others[2]],
                "hands": hands if player == 0 else hands[::-1],
                "piles": piles if player == 0 else piles[::-1],
                "player": player,
            }
        )
        values = true_values(position)
        if values and set(values.values()) - {-1, 0, 1}:
            yield position, values


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("num_own", "num_others"), [(2, 1), (1, 2)])
def test_the_value_of_an_action_is_its_mean_over_all_deals(
    num_own: int, num_others: int, player: int, root: Root, opponent_nodes: OpponentNodes
) -> None:
    num_positions = 0
    for position, values in endings(num_own, num_others, player):
        analysis = zf.search.analyse(
            position, num_simulations=5000, root=root, opponent_nodes=opponent_nodes
        )
        best = analysis.best_action
        assert values[best] == pytest.approx(max(values.values()), abs=0.05), str(analysis)
        assert analysis.values_to_move[best] == pytest.approx(values[best], abs=0.1), str(analysis)
        assert not analysis.solved
        num_positions += 1
    assert num_positions >= 10
