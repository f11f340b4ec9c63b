"""The source of a custom game, for tests that put it into files."""

PICK = '''
import zerofleet as zf


class Pick:
    """One player picks once: 0 loses, 1 wins."""

    name = "pick"
    num_actions = 2
    observation_bytes = 1
    max_plies = 1

    def __init__(self):
        self.to_move, self.picked = 0, None

    def legal_actions(self):
        return [0, 1]

    def play(self, action):
        self.to_move, self.picked = zf.OVER, action

    def rewards(self):
        return [1, -1] if self.picked == 1 else [-1, 1]

    def observe(self, player):
        return [self.to_move == player]

    def copy(self):
        copy = type(self)()
        copy.to_move, copy.picked = self.to_move, self.picked
        return copy
'''
