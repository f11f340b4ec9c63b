"""zerofleet check"""

from typing import Annotated

import typer

from zerofleet.cli.arguments import GameName, GameOptions, Seed, option_values
from zerofleet.cli.progress import games_progress
from zerofleet.games.check_in_child import check_named


def check(
    name: GameName,
    num_games: Annotated[
        int, typer.Option("--games", min=1, help="Number of random games to play.")
    ] = 1000,
    seed: Seed = 1,
    option: GameOptions = None,
) -> None:
    """Check a game against its contract by playing random games.

    Example: zerofleet check gomoku --option size=9 --games 200
    """
    print(f"checking {name}", flush=True)
    done = 0
    try:
        with games_progress() as show:

            def show_progress(num_games_done: int) -> None:
                nonlocal done
                done = num_games_done
                show(name, done, num_games)

            report = check_named(name, option_values(option), num_games, seed, show_progress)
    except KeyboardInterrupt:
        print(f"stopped; no fault in {done} games")
        raise
    print(
        f"no fault in {report.num_games} games, {report.num_plies} plies "
        f"(longest game {report.longest}, truncated {report.num_truncated}, "
        f"tests of resampled hidden state {report.num_resampling_tests})"
    )
