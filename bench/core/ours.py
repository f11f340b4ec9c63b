"""Throughput of the core on one thread, for the same work as peers.py.

Prints one JSON object. Usage: ours.py SECONDS
"""

import json
import sys
import time

import zerofleet as zf
from zerofleet import _core


def throughput(do, seconds):
    """Items per second; each call of `do` returns the number of items it processed."""
    do()
    done, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        done += do()
    return done / (time.perf_counter() - start)


def random_games(name, num_games):
    game = zf.games.get(name)
    seeds = iter(range(10**9))
    return lambda: game.random_games(num_games, seed=next(seeds)).num_games


def playout_search(name, num_simulations, num_plies):
    """Plain MCTS with one random playout per simulation, after some random plies."""
    game = zf.games.get(name)
    seeds = iter(range(10**9))

    def search():
        seed = next(seeds)
        position = random_position(game, num_plies, seed)
        zf.search.analyse(
            position, "playout", num_simulations=num_simulations, seed=seed, prove=False
        )
        return num_simulations

    return search


def random_position(game, num_plies, seed):
    """A decision position after at least `num_plies` random plies."""
    position = game.new_position(seed=seed)
    while num_plies > 0 or position.to_move == zf.CHANCE:
        seed = (seed * 6364136223846793005 + 1442695040888963407) % 2**63
        ids = position.legal_actions() or [each for each, _ in position.chance_outcomes()]
        position.play(ids[(seed >> 33) % len(ids)])
        num_plies -= 1
    return position


def selfplay(name, num_simulations, num_games=64, num_threads=1):
    """Concurrent self-play with the hash evaluator: no exploration, cache or tree reuse."""
    return _core.SelfPlay(
        zf.games.get(name),
        {
            "num_simulations": num_simulations,
            "dirichlet_epsilon": 0,
            "forced_playouts": 0,
            "cache_bytes": 0,
            "reuse_tree": False,
        },
        num_groups=2 * num_threads,
        games_per_group=num_games // 2,
        num_threads=num_threads,
        evaluator="hash",
        seed=1,
        worker=0,
    )


def batched_search(name, num_simulations, seconds, num_threads=1):
    """Simulations per second, and bytes of tree per simulation."""
    driver = selfplay(name, num_simulations, num_threads=num_threads)
    time.sleep(1)
    before, start = driver.counts(), time.perf_counter()
    time.sleep(seconds)
    after, end = driver.counts(), time.perf_counter()
    driver.stop()
    per_s = (after.num_simulations - before.num_simulations) / (end - start)
    return per_s, after.largest_tree_bytes / num_simulations


def main():
    seconds = float(sys.argv[1])
    if len(sys.argv) > 2:  # one measurement, to compare threads with processes
        print(batched_search(sys.argv[2], int(sys.argv[3]), seconds, int(sys.argv[4]))[0])
        return
    gomoku_200, _ = batched_search("gomoku", 200, seconds)
    gomoku_800, gomoku_bytes = batched_search("gomoku", 800, seconds)
    backgammon, backgammon_bytes = batched_search("backgammon", 200, seconds)
    beastybar, beastybar_bytes = batched_search("beastybar", 200, seconds)
    per_s = {
        "backgammon random games": throughput(random_games("backgammon", 2000), seconds),
        "gomoku random games": throughput(random_games("gomoku", 5000), seconds),
        "beastybar random games": throughput(random_games("beastybar", 20000), seconds),
        "connect4 random games": throughput(random_games("connect4", 100000), seconds),
        "gomoku playout search": throughput(playout_search("gomoku", 200, 8), seconds),
        "backgammon playout search": throughput(playout_search("backgammon", 100, 8), seconds),
        "gomoku batched search, 200": gomoku_200,
        "gomoku batched search, 800": gomoku_800,
        "backgammon batched search": backgammon,
        "beastybar batched search": beastybar,
    }
    bytes_per_simulation = {
        "gomoku": gomoku_bytes,
        "backgammon": backgammon_bytes,
        "beastybar": beastybar_bytes,
    }
    print(json.dumps({"per_s": per_s, "bytes_per_simulation": bytes_per_simulation}))


if __name__ == "__main__":
    main()
