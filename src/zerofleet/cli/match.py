"""zerofleet match"""

import base64
import json
from pathlib import Path
from typing import Annotated

import typer

from zerofleet.arena import Match
from zerofleet.arena import match as play_match
from zerofleet.arena.players import with_difficulty
from zerofleet.cli.arguments import (
    DifficultyOption,
    GameName,
    GameOptions,
    NumThreads,
    PlayerText,
    Seed,
    Sure,
    ask_about_many,
    game_of,
    refuse_unwritable,
)
from zerofleet.cli.progress import games_progress
from zerofleet.printing import say
from zerofleet.storage import write_output


def match(
    name: GameName,
    first: PlayerText,
    second: PlayerText,
    num_games: Annotated[
        int, typer.Option("--games", min=2, help="Number of games; must be even.")
    ] = 400,
    seed: Seed = 1,
    num_threads: NumThreads = None,
    save: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the games to a file, as JSON lines.")
    ] = None,
    difficulty: DifficultyOption = None,
    yes: Sure = False,
    option: GameOptions = None,
) -> None:
    """Play a match between two players.

    Games come in pairs with seats swapped.

    A player is random, heuristic, playout-N (or mcts-N), run:NAME[@STEP][,…], file:PATH[,…],
    best[,sims=N][,seconds=S][,greedy][,root=gumbel][,difficulty=medium], gnubg-0|1|2 or
    gomocup:PATH; solver in Connect Four and hypergammon; in Beasty Bar also aggressive or
    defensive. Players search without exploration.

    Example: zerofleet match beastybar heuristic random --games 200
    """
    game = game_of(name, option)
    first, second = with_difficulty([first, second], difficulty)
    refuse_unwritable(save)
    ask_about_many(num_games, yes)
    with games_progress() as show:
        played = play_match(
            game,
            first,
            second,
            num_games,
            seed,
            num_threads,
            on_progress=lambda done, of: show(f"{first} against {second}", done, of),
        )
    say(played)
    if save is not None:
        save_games(played, save)
        say(f"games   {save}")


def save_games(played: Match, path: Path) -> None:
    """One JSON line per game: the players, the reward of player 0, the episode in base64."""
    names = (played.first, played.second)
    lines = [
        {
            "game": number,
            "player0": names[number % 2],
            "player1": names[1 - number % 2],
            "reward_player0": game.reward_first_named * (-1 if number % 2 else 1),
            "episode": base64.b64encode(game.episode).decode(),
        }
        for number, game in enumerate(played.played)
    ]
    write_output(path, "".join(f"{json.dumps(line)}\n" for line in lines).encode())
