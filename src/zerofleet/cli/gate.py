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
        typer.Option("--game", metavar="GAME", help="Needed if neither player is a run."),
    ] = None,
    elo0: Annotated[float, typer.Option(help="H0: the Elo difference is at most this.")] = 0,
    elo1: Annotated[float, typer.Option(help="H1: the Elo difference is at least this.")] = 30,
    alpha: Annotated[float, typer.Option(help="Probability of accepting at elo0.")] = 0.05,
    beta: Annotated[float, typer.Option(help="Probability of rejecting at elo1.")] = 0.05,
    max_games: Annotated[
        int, typer.Option(min=2, help="Stop undecided after this many games.")
    ] = 10_000,
    seed: Seed = 1,
    num_threads: NumThreads = None,
    option: GameOptions = None,
) -> None:
    """Test whether the first player is stronger (SPRT).

    The sequential test plays pairs of games with seats swapped until it can decide.

    Exit status: 0 accepted (H1), 1 rejected (H0), 3 undecided after --max-games.

    Example: zerofleet gate heuristic random --game connect4
    """
    if option and not name:
        raise BadText("--option needs --game; without it the game is that of the run")
    game = game_of(name, option) if name else game_of_runs(first, second)
    hypotheses = Hypotheses(elo0, elo1, alpha, beta)
    with games_progress() as show:

        def show_test(num_games: int, ratio: float) -> None:
            show(f"{first} against {second}, ratio {ratio:+.2f}", num_games, max_games)

        result = play_gate(game, first, second, hypotheses, max_games, seed, num_threads, show_test)
    say(result)
    raise typer.Exit(EXIT_STATUS[result.verdict])


def game_of_runs(*players: str) -> Game:
    """The game of the first player that names a run."""
    for text in players:
        kind, _, rest = text.partition(":")
        if kind == "run":
            return find(rest.partition(",")[0].partition("@")[0]).game()
    raise BadText("neither player is a run, so the game is unknown; add --game GAME")
