"""A match of thousands of games, by several processes, recorded.

    .venv/bin/python bench/strength/long_match.py backgammon best,sims=400 gnubg-0 --games 5000 \\
      [--processes 16] [--minutes 10] [--option size=9]

The games are those of `zerofleet match` with the same seed. Processes take chunks of pairs in their
order; after --minutes none is begun, and the record has those that are complete.
CUDA_VISIBLE_DEVICES= keeps networks on the CPU.
"""

import argparse
import functools
import multiprocessing
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import zerofleet as zf
from zerofleet.arena.match import Pairing
from zerofleet.arena.match_result import pair_means
from zerofleet.arena.starts import opening_of_each_pair
from zerofleet.arena.statistics import estimate

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

CHUNK_PAIRS = 32
"""As many as a match plays concurrently in a thread."""


@functools.cache
def pairing_of(game_name, options, first, second, seed):
    """One per process, so that weights are loaded once."""
    game = zf.games.get(game_name, **dict(options))
    return Pairing(game, first, second, seed, num_threads=1)


def rewards_of(of_match, end_s, begin, num_pairs):
    """Of the games of a chunk of pairs, in the view of the player named first."""
    if time.time() > end_s:
        return []
    pairing = pairing_of(*of_match)
    opening_of = opening_of_each_pair(pairing.game, pairing.seed)
    pairs = range(begin, min(begin + CHUNK_PAIRS, num_pairs))
    return [each.reward_first_named for each in pairing.play(pairs, opening_of).played]


def play(of_match, num_games, num_processes, end_s):
    """The rewards of all games that are played, in order."""
    rewards = []
    begins = range(0, num_games // 2, CHUNK_PAIRS)
    of_chunk = functools.partial(rewards_of, of_match, end_s, num_pairs=num_games // 2)
    spawning = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(num_processes, mp_context=spawning) as processes:
        for of_pairs in processes.map(of_chunk, begins):
            rewards += of_pairs
            print(f"{len(rewards):,} of {num_games:,} games", file=sys.stderr, end="\r", flush=True)
    return rewards


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("first", help="a player, as `zerofleet match` takes it")
    parser.add_argument("second")
    parser.add_argument("--games", type=int, default=5000)
    parser.add_argument("--minutes", type=float, default=1e6, help="after which no game begins")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    given = parser.parse_args()
    if given.games < 2 or given.games % 2:
        parser.error(f"games are played in pairs: --games must be even, got {given.games}")
    options = tuple(tuple(text.split("=", 1)) for text in given.option)
    start_s = time.time()
    rewards = play(
        (given.game, options, given.first, given.second, given.seed),
        given.games,
        given.processes,
        start_s + 60 * given.minutes,
    )
    if not rewards:
        sys.exit("no game was played")
    largest = max(each.reward for each in zf.games.get(given.game, **dict(options)).outcomes)
    scores = [0.5 + 0.5 * ((each > 0) - (each < 0)) for each in rewards]
    score, points = (
        estimate(pair_means(scores), 0, 1),
        estimate(pair_means(rewards), -largest, largest),
    )
    print(
        f"{given.game}: {given.first} against {given.second}, {len(rewards):,} games: "
        f"{score.mean:.1%} ({score.low:.1%} to {score.high:.1%}), "
        f"{points.mean:+.3f} points/game ({points.low:+.3f} to {points.high:+.3f})"
    )
    record(
        f"match-{given.game}",
        "bench/strength/long_match.py " + " ".join(sys.argv[1:]),
        {
            "first": given.first,
            "second": given.second,
            "games": len(rewards),
            "won": sum(each > 0 for each in rewards),
            "lost": sum(each < 0 for each in rewards),
            "score": {"mean": score.mean, "low": score.low, "high": score.high},
            "points": {"mean": points.mean, "low": points.low, "high": points.high},
            "seconds": round(time.time() - start_s, 1),
        },
    )


if __name__ == "__main__":
    main()
