"""zerofleet gate"""

from typing import Annotated

import typer

from zerofleet.arena import Hypotheses
from zerofleet.arena import gate as play_gate
from zerofleet.cli.arguments import GameOptions, NumThreads, PlayerText, Seed, game_of
from zerofleet.cli.progress import games_progress
from zerofleet.errors import BadText
from zerofleet.games import Game
from zerofleet.printing import say
from zerofleet.runs.folder import find

EXIT_STATUS = {"accepted": 0, "rejected": 1, "undecided": 3}


def gate(
    first: PlayerText,
    second: PlayerText,
    name: Annotated[
        str | None,
        typer.Option("--game", metavar="GAME", help="Needed where neither player is a run."),
    ] = None,
    elo0: Annotated[float, typer.Option(help="No better than this is to be rejected.")] = 0,
    elo1: Annotated[float, typer.Option(help="As good as this is to be accepted.")] = 30,
    alpha: Annotated[float, typer.Option(help="How often to accept at elo0.")] = 0.05,
    beta: Annotated[float, typer.Option(help="How often to reject at elo1.")] = 0.05,
    max_games: Annotated[int, typer.Option(min=2, help="Then it is undecided.")] = 10_000,
    seed: Seed = 1,
    num_threads: NumThreads = None,
    option: GameOptions = None,
) -> None:
    """Test whether one player is stronger than another, in as few games as it takes.

    Exit status: 0 accepted, 1 rejected, 3 undecided after --max-games.

    Example: zerofleet gate heuristic random --game connect4
    """
    if option and not name:
        raise BadText("--option goes with --game; without it the game is that of the run")
    game = game_of(name, option) if name else game_of_runs(first, second)
    hypotheses = Hypotheses(elo0, elo1, alpha, beta)
    with games_progress() as show:

        def show_test(num_games: int, ratio: float) -> None:
            show(f"{first} against {second}, ratio {ratio:+.2f}", num_games, max_games)

        result = play_gate(game, first, second, hypotheses, max_games, seed, num_threads, show_test)
    say(result)
    raise typer.Exit(EXIT_STATUS[result.verdict])


def game_of_runs(*players: str) -> Game:
    """The game of the first player that is a run."""
    for text in players:
        kind, _, rest = text.partition(":")
        if kind == "run":
            return find(rest.partition(",")[0].partition("@")[0]).game()
    raise BadText("neither player is a run that knows its game; say --game GAME")
