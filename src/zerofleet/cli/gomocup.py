"""zerofleet gomocup"""

import sys
from typing import Annotated

import typer

from zerofleet.arena import player
from zerofleet.arena.gomocup_brain import Brain
from zerofleet.arena.players import SearchText, refuse_unknown
from zerofleet.errors import Inconsistent
from zerofleet.games import get
from zerofleet.infer.load import weights_named
from zerofleet.runs.folder import BEST
from zerofleet.weights.spec import NetworkSpec


def gomocup(
    text: Annotated[
        str, typer.Argument(metavar="PLAYER", help="E.g. run:NAME,sims=400 or playout-1000.")
    ],
) -> None:
    """Run a player as a Gomocup engine, for Gomoku match managers.

    Reads commands and writes answers, one per line, until END. The manager sets board size and rule
    (freestyle or exact); time limits are ignored.

    Example: zerofleet gomocup playout-1000
    """
    refuse_unknown_player(text)
    brain = Brain(lambda game: player(game, text))
    try:
        for answer in brain.answers(sys.stdin):
            print(answer, flush=True)
    finally:
        brain.close()


def refuse_unknown_player(text: str) -> None:
    """Rejects an unknown player now rather than at the first move."""
    game = get("gomoku")
    named = SearchText.of(text)
    if named is None or named.source in ("playout", BEST):
        refuse_unknown(game, text)
        return
    spec = NetworkSpec.from_dict(weights_named(named.source, game).spec)
    if spec.game != game.name:
        raise Inconsistent(f"{text}: weights of {spec.game_text} do not play {game.name}")
