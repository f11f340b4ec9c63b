"""zerofleet rate"""

from pathlib import Path
from typing import Annotated

import typer

from zerofleet.arena import rate as rate_players
from zerofleet.arena.players import with_difficulty
from zerofleet.arena.rating_picture import draw_ratings
from zerofleet.cli.arguments import (
    DifficultyOption,
    GameName,
    GameOptions,
    NumThreads,
    Seed,
    Sure,
    ask_about_many,
    game_of,
    refuse_unwritable,
)
from zerofleet.cli.progress import games_progress
from zerofleet.metrics import needed
from zerofleet.printing import say


def rate(
    name: GameName,
    players: Annotated[
        list[str], typer.Argument(metavar="PLAYER...", help="See zerofleet match --help.")
    ],
    num_games: Annotated[
        int, typer.Option("--games", min=2, help="Games per pairing; must be even.")
    ] = 200,
    seed: Seed = 1,
    num_threads: NumThreads = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a plot of the ratings, as PNG.")
    ] = None,
    difficulty: DifficultyOption = None,
    yes: Sure = False,
    option: GameOptions = None,
) -> None:
    """Rate players by Elo in a round robin; random is 0.

    Each pairing gets two virtual pairs, one won by each side, so that all ratings are finite.

    Example: zerofleet rate connect4 heuristic playout-20 --games 20
    """
    game = game_of(name, option)
    players = with_difficulty(players, difficulty)
    refuse_unwritable(picture)
    ask_about_many(num_games, yes)
    if picture is not None:
        needed("matplotlib", "zerofleet[train]")
    with games_progress() as show:
        ratings = rate_players(game, players, num_games, seed, num_threads, show)
    say(ratings)
    if picture is not None:
        draw_ratings(ratings, picture)
        say(f"picture: {picture}")
