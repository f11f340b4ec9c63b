"""Kuhn's poker as its user would write it, and games that differ from it in one thing."""

import random

import numpy as np

import zerofleet as zf


class Kuhn:
    """Kuhn's poker: a card each of jack, queen, king (0, 1, 2); pass is 0, bet or call is 1."""

    name = "kuhn"
    num_actions = 2
    observation_bytes = 5
    max_plies = 3
    hidden = True
    outcomes = (("won 2", 2), ("won 1", 1), ("lost 1", -1), ("lost 2", -2))

    def __init__(self, seed: int = 0, cards: list[int] | None = None, played: str = "") -> None:
        self.cards = cards or random.Random(seed).sample(range(3), 3)  # player 0, player 1, aside
        self.played = played

    @property
    def to_move(self) -> int:
        over = self.played in ("00", "10", "11", "010", "011")
        return zf.OVER if over else len(self.played) % 2

    def legal_actions(self):
        return [0, 1]

    def play(self, action):
        self.played += str(action)

    def rewards(self):
        if self.played in ("10", "010"):  # a bet that was not called
            winner, stake = (0, 1) if self.played == "10" else (1, 1)
        else:
            winner = 0 if self.cards[0] > self.cards[1] else 1
            stake = 2 if "11" in self.played else 1
        return [stake, -stake] if winner == 0 else [-stake, stake]

    def observe(self, player):
        row = np.zeros(5, np.uint8)
        row[0] = self.cards[player]
        row[1 : 1 + len(self.played)] = [1 + int(action) for action in self.played]
        row[4] = self.to_move == player
        return row

    def resample_hidden(self, player, seed):
        unseen = sorted(set(range(3)) - {self.cards[player]})
        random.Random(seed).shuffle(unseen)
        self.cards[1 - player], self.cards[2] = unseen

    def hidden_groups(self, player):
        return [[[self.cards[1 - player]], [self.cards[2]]]]

    def copy(self):
        return type(self)(cards=list(self.cards), played=self.played)

    def to_text(self):
        return "".join(map(str, self.cards)) + "/" + self.played

    @classmethod
    def from_text(cls, text):
        cards, played = text.split("/")
        return cls(cards=[int(card) for card in cards], played=played)

    def action_text(self, action):
        return "bet" if action else "pass"


class TossedKuhn(Kuhn):
    """The same after the toss of a coin that both see: chance in a game with hidden cards."""

    name = "tossed kuhn"
    num_chance_outcomes = 3
    observation_bytes = 6
    max_plies = 4

    def __init__(self, seed: int = 0, tossed: int | None = None, **state) -> None:
        super().__init__(seed, **state)
        self.tossed = tossed

    @property
    def to_move(self) -> int:
        return zf.CHANCE if self.tossed is None else super().to_move

    def chance_outcomes(self):
        return [(0, 0.5), (1, 0.5)]

    def play(self, action):
        if self.tossed is None:
            self.tossed = action
        else:
            super().play(action)

    def observe(self, player):
        return [*super().observe(player), 0 if self.tossed is None else 1 + self.tossed]

    def copy(self):
        return type(self)(cards=list(self.cards), played=self.played, tossed=self.tossed)

    def to_text(self):
        return super().to_text() + ("" if self.tossed is None else f"/{self.tossed}")

    @classmethod
    def from_text(cls, text):
        cards, played, *tossed = text.split("/")
        tossed = int(tossed[0]) if tossed else None
        return cls(cards=[int(card) for card in cards], played=played, tossed=tossed)


class TwoQueens(Kuhn):
    """Kuhn's poker with a second queen instead of the king: hidden cards may be alike."""

    name = "two queens"

    def __init__(self, seed: int = 0, cards: list[int] | None = None, played: str = "") -> None:
        super().__init__(cards=cards or random.Random(seed).sample([0, 1, 1], 3), played=played)

    def resample_hidden(self, player, seed):
        unseen = sorted([self.cards[1 - player], self.cards[2]])
        random.Random(seed).shuffle(unseen)
        self.cards[1 - player], self.cards[2] = unseen
