"""zerofleet show"""

from zerofleet._core import CHANCE, OVER
from zerofleet.cli.arguments import GameName, GameOptions, PositionText, Seed, game_of, position_of


def show(
    name: GameName,
    text: PositionText = None,
    seed: Seed = 0,
    option: GameOptions = None,
) -> None:
    """Show a position and its legal actions.

    Example: zerofleet show connect4 4453
    """
    position = position_of(game_of(name, option), text, seed)
    print(position, end="")
    print(f"text: {position.to_text()}")
    if position.to_move == OVER:
        print("rewards: {:+g} {:+g}".format(*position.rewards()))
    elif position.to_move == CHANCE:
        for outcome, probability in position.chance_outcomes():
            print(f"  {position.action_text(outcome)}  {probability:.2%}")
    else:
        texts = [position.action_text(action) for action in position.legal_actions()]
        print("legal:", ", ".join(texts))
