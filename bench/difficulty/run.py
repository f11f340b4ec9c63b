"""What the difficulties cost and gain: time per move, and each one's score against the one below.

    zerofleet bench difficulty gomoku --simulations 50 --games 200

Plays easy < medium < hard with the shipped weights, in pairs with seats swapped, and times each
difficulty on the same positions of those games, one position at a time.
"""

import argparse
import itertools
import shlex
import statistics
import sys
import time
from pathlib import Path

import zerofleet as zf
from zerofleet.arena import match, player
from zerofleet.arena.players import DIFFICULTIES

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

TIMED_GAMES = 4
"""Games of the first match whose positions are timed."""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("game")
    parser.add_argument("--simulations", type=int, default=50, help="per move; hard has four times")
    parser.add_argument("--games", type=int, default=200, help="of each step of the ladder")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=None)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    game = zf.games.get(arguments.game, **dict(each.split("=", 1) for each in arguments.option))
    texts = [f"best,sims={arguments.simulations},difficulty={each}" for each in DIFFICULTIES]

    steps = []
    for lower, upper in itertools.pairwise(texts):
        played = match(game, upper, lower, arguments.games, arguments.seed, arguments.threads)
        print(played, flush=True)
        steps.append((upper, lower, played))
    positions = positions_of(game, steps[0][2].episodes[:TIMED_GAMES])
    seconds = {text: seconds_per_move(game, text, positions) for text in texts}
    for text, spent in seconds.items():
        ratio = spent / seconds[texts[0]]
        print(f"{text:40} {1000 * spent:8.1f} ms per move   {ratio:5.2f} x easy")
    if not arguments.no_record:
        record(
            f"difficulty-{arguments.game}",
            shlex.join(["zerofleet", "bench", "difficulty", *sys.argv[1:]]),
            {
                "game": repr(game),
                "steps": [
                    {
                        "upper": upper,
                        "lower": lower,
                        "games": len(played.played),
                        "won_drawn_lost": [played.wins, played.draws, played.losses],
                        "score": played.score,
                        "interval_95": played.interval,
                    }
                    for upper, lower, played in steps
                ],
                "positions_timed": len(positions),
                "seconds_per_move": seconds,
                "medium_over_easy": seconds[texts[1]] / seconds[texts[0]],
                "hard_over_easy": seconds[texts[2]] / seconds[texts[0]],
            },
        )


def positions_of(game, played):
    """The positions of these games in which a player is to move."""
    return [
        position
        for episode in played
        for position in zf.games.Episode.decode(episode).positions(game)
        if position.to_move in (0, 1)
    ]


def seconds_per_move(game, text, positions):
    """Mean time of a move, positions one at a time; the first move warms up."""
    spent = []
    with player(game, text) as mover:
        mover.choose_many(positions[:1], [1])
        for seed, position in enumerate(positions):
            start = time.perf_counter()
            mover.choose_many([position], [seed])
            spent.append(time.perf_counter() - start)
    return statistics.fmean(spent)


if __name__ == "__main__":
    main()
