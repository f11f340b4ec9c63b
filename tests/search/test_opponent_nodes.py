"""At an opponent's node only what is legal in the hidden state drawn is played."""

import random
from typing import Literal

import numpy as np
import pytest

import zerofleet as zf

NUM_CARDS, HAND_SIZE = 5, 2


class HighCards:
    """Two cards each of five, one aside; they are played by turns, and in each round the higher one
    counts. A position refuses a card that its player does not hold."""

    name = "high cards"
    num_actions = NUM_CARDS
    observation_bytes = NUM_CARDS + 1
    max_plies = 2 * HAND_SIZE
    hidden = True

    def __init__(self, seed: int = 0, cards: list[int] | None = None, num_played: int = 0) -> None:
        # Those of player 0, those of player 1, aside; each player's in the order they are played.
        self.cards = cards or random.Random(seed).sample(range(NUM_CARDS), NUM_CARDS)
        self.num_played = num_played

    @property
    def to_move(self):
        return zf.OVER if self.num_played == self.max_plies else self.num_played % 2

    def places(self, player):
        """Where the cards lie that a player still holds."""
        done = (self.num_played + 1 - player) // 2
        return range(player * HAND_SIZE + done, (player + 1) * HAND_SIZE)

    def legal_actions(self):
        return sorted(self.cards[place] for place in self.places(self.to_move))

    def play(self, action):
        places = self.places(self.to_move)
        held = [self.cards[place] for place in places]
        assert action in held, f"player {self.to_move} plays {action} and holds {held}"
        at = self.cards.index(action)
        self.cards[at], self.cards[places[0]] = self.cards[places[0]], action
        self.num_played += 1

    def rewards(self):
        pairs = zip(self.cards[:HAND_SIZE], self.cards[HAND_SIZE:-1], strict=True)
        lead = sum(1 if mine > theirs else -1 for mine, theirs in pairs) // HAND_SIZE
        return [lead, -lead]

    def observe(self, player):
        seen = np.zeros(self.observation_bytes, np.uint8)
        for place in range(2 * HAND_SIZE):  # 1 and 2: in the hands, 3…: by the ply it was played at
            owner, turn = divmod(place, HAND_SIZE)
            if place not in self.places(owner):
                seen[self.cards[place]] = 3 + 2 * turn + owner
            elif owner == player:
                seen[self.cards[place]] = 1 + owner
        seen[-1] = self.to_move == player
        return seen

    def unseen_places(self, player):
        return [*self.places(1 - player), NUM_CARDS - 1]

    def resample_hidden(self, player, seed):
        places = self.unseen_places(player)
        unseen = sorted(self.cards[place] for place in places)
        random.Random(seed).shuffle(unseen)
        for place, card in zip(places, unseen, strict=True):
            self.cards[place] = card
        for owner in (0, 1):  # a hand has no order
            held = self.places(owner)
            self.cards[held.start : held.stop] = sorted(self.cards[held.start : held.stop])

    def hidden_groups(self, player):
        return [[[self.cards[place] for place in self.places(1 - player)], self.cards[-1:]]]

    def copy(self):
        return type(self)(cards=list(self.cards), num_played=self.num_played)

    def to_text(self):
        return "".join(map(str, self.cards)) + f"/{self.num_played}"

    @classmethod
    def from_text(cls, text):
        cards, num_played = text.split("/")
        return cls(cards=[int(card) for card in cards], num_played=int(num_played))


def prefers_by_hash(observations):
    """Priors and outcomes that are others for each observation, and the same for equal ones."""
    seeds = [int.from_bytes(bytes(row), "little") % 2**32 for row in observations]
    drawn = np.array([np.random.default_rng(seed).random(NUM_CARDS + 3) for seed in seeds])
    outcomes = drawn[:, NUM_CARDS:] / drawn[:, NUM_CARDS:].sum(axis=1, keepdims=True)
    return drawn[:, :NUM_CARDS].astype(np.float32), outcomes.astype(np.float32)


def test_the_game_keeps_the_contract() -> None:
    assert zf.games.check(HighCards, num_games=50).num_resampling_tests > 0


@pytest.mark.parametrize("opponent_nodes", ["pooled", "per_hand"])
def test_several_leaves_at_once_play_nothing_that_is_illegal(
    opponent_nodes: Literal["pooled", "per_hand"],
) -> None:
    for seed in range(20):
        analysis = zf.search.analyse(
            HighCards(seed),
            prefers_by_hash,
            num_simulations=100,
            seed=seed,
            max_leaves=16,
            opponent_nodes=opponent_nodes,
        )
        assert sum(analysis.visits.values()) == 100
