"""Prints each game's signature: python -m zerofleet.signature

The C++ and WebAssembly builds print the same lines; scripts/check-signatures compares them.
"""

from zerofleet import _core

if __name__ == "__main__":
    for name in _core.game_names():
        print(name, _core.signature(_core.make_game(name, [])))
