"""zerofleet analyse"""

from typing import Annotated

import typer

from zerofleet.cli.arguments import GameName, GameOptions, PositionText, Seed, game_of, position_of
from zerofleet.cli.output import print_table
from zerofleet.search import CoreEvaluatorName, RootName
from zerofleet.search import analyse as analyse_position


def analyse(
    name: GameName,
    text: PositionText = None,
    num_simulations: Annotated[int, typer.Option("--simulations", min=1)] = 800,
    evaluator: Annotated[
        CoreEvaluatorName, typer.Option(help="What judges the leaves.")
    ] = "playout",
    root: Annotated[RootName, typer.Option(help="How the root's actions are chosen.")] = "puct",
    seed: Seed = 1,
    top: Annotated[int, typer.Option(min=1, help="Actions to list.")] = 20,
    option: GameOptions = None,
) -> None:
    """Search a position: what to play, and what it is worth to the player to move.

    Example: zerofleet analyse connect4 4453 --simulations 10000
    """
    position = position_of(game_of(name, option), text, seed)
    print(position, end="", flush=True)
    analysis = analyse_position(position, evaluator, num_simulations, seed, root)
    print(analysis.summary())
    header = ("action", "visits", "policy", "value", "prior")
    rows = analysis.rows()
    print_table(header, rows[:top], numbers=header[1:])
    if len(rows) > top:
        print(f"… {len(rows) - top} more")
    print(f"line: {analysis.line_text()}")
