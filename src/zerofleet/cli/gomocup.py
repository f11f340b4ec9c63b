"""zerofleet gomocup"""

import sys
from typing import Annotated

import typer

from zerofleet.arena import player
from zerofleet.arena.gomocup_brain import Brain


def gomocup(
    text: Annotated[
        str, typer.Argument(metavar="PLAYER", help="Such as run:NAME,sims=400 or playout-1000.")
    ],
) -> None:
    """Let a player speak the Gomocup protocol, for programs that hold Gomoku matches.

    Reads commands and writes answers, a line each, until END. Board sizes and the rules freestyle
    and exact are as asked for; time limits are not looked at.

    Example: zerofleet gomocup playout-1000
    """
    brain = Brain(lambda game: player(game, text))
    try:
        for answer in brain.answers(sys.stdin):
            print(answer, flush=True)
    finally:
        brain.close()
