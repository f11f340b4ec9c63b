"""Prints each game's signature as Python computes it: python -m zerofleet.signature

The same lines come out of the C++ and the WebAssembly build: scripts/check-signatures compares.
"""

from zerofleet import _core

if __name__ == "__main__":
    for name in _core.game_names():
        print(name, _core.signature(_core.make_game(name, [])))
