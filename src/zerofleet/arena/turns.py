"""Whole turns of games in which a player moves several times in a row."""

from dataclasses import dataclass

from zerofleet.games import Position


@dataclass(frozen=True)
class Turn:
    """A player's consecutive actions until the opponent, chance or the end of the game."""

    actions: tuple[int, ...]
    after: Position


def turns(position: Position) -> list[Turn]:
    """All turns of the player to move."""
    found = []
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move == position.to_move:
            found += [Turn((action, *rest.actions), rest.after) for rest in turns(after)]
        else:
            found.append(Turn((action,), after))
    return found
