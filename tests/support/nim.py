"""A custom game in Python, small enough to solve by hand."""

import zerofleet as zf


class Nim:
    """Take one to three of ten sticks; the last one wins. So leave a multiple of four."""

    name = "nim"
    num_actions = 3
    observation_bytes = 2
    max_plies = 10

    def __init__(self, left: int = 10, to_move: int = 0) -> None:
        self.left = left
        self.player = to_move

    @property
    def to_move(self) -> int:
        return self.player if self.left else zf.OVER

    def legal_actions(self):
        return range(min(3, self.left))

    def play(self, action):
        self.left -= action + 1
        self.player = 1 - self.player

    def rewards(self):
        return [-1, 1] if self.player == 0 else [1, -1]  # who took the last one moved last

    def observe(self, player):
        return [self.left, self.to_move == player]

    def copy(self):
        return type(self)(self.left, self.player)
