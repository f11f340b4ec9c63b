"""Bias and mean squared error of the root value of a search, as a predictor of the result.

    python bench/search/root_value.py beastybar --games 300
    python bench/search/root_value.py gomoku --option size=9 --games 20 --root puct

The shipped network plays against itself. At every searched decision two values are compared with
the result: the network's value and the stored root value, both in the mover's view and divided by
the largest reward. Standard errors are clustered by game.
"""

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

import zerofleet as zf
from zerofleet.infer.load import load_file
from zerofleet.weights.best import find_best


def play_games(game, evaluator, num_games, seed, **settings):
    """The first num_games games by number; the first to end would be the short ones."""
    episodes = {}
    playing = zf.selfplay.play(
        game,
        evaluator,
        num_episodes=sys.maxsize,
        num_groups=1,
        games_per_group=num_games,
        seed=seed,
        dirichlet_epsilon=0,
        forced_playouts=0,
        **settings,
    )
    for data in playing:
        episode = zf.games.Episode.decode(data)
        if episode.sequence < num_games:
            episodes[episode.sequence] = episode
        if len(episodes) == num_games:
            return [episodes[number] for number in range(num_games)]
    raise AssertionError("self-play does not end by itself")


def errors_of(game, evaluator, episode):
    """Value minus result of the network and of the search, [2, S] for S searched decisions."""
    rewards_O = np.array([outcome.reward for outcome in game.outcomes])
    rewards_O = rewards_O / rewards_O.max()
    rows = episode.rows(game)
    events, first_rows = np.unique(rows.event, return_index=True)  # the mover's row comes first
    is_searched = [bool(episode.events[event].outcomes_to_move) for event in events]
    events, rows_S = events[is_searched], first_rows[is_searched]
    result_S = rewards_O[rows.outcome[rows_S]]
    _, said_SO = evaluator(np.ascontiguousarray(rows.observations[rows_S]))
    stored_SO = np.array([episode.events[event].outcomes_to_move for event in events])
    return np.stack([said_SO @ rewards_O - result_S, stored_SO @ rewards_O - result_S])


def interval(by_game):
    """The mean over all decisions, with its standard error clustered by game."""
    sizes = np.array([len(each) for each in by_game])
    sums = np.array([each.sum() for each in by_game])
    mean = sums.sum() / sizes.sum()
    off = sums - mean * sizes
    return {
        "mean": float(mean),
        "standard_error": float(statistics.stdev(off) * len(off) ** 0.5 / sizes.sum()),
    }


def measure(game, evaluator, num_games, seed, **settings):
    episodes = play_games(game, evaluator, num_games, seed, **settings)
    errors = [errors_of(game, evaluator, episode) for episode in episodes]
    found = {"games": num_games, "decisions": sum(each.shape[1] for each in errors)}
    for at, name in enumerate(["network", "stored"]):
        found[name] = {
            "bias": interval([each[at] for each in errors]),
            "mse": interval([each[at] ** 2 for each in errors]),
        }
    gain = [each[1] ** 2 - each[0] ** 2 for each in errors]
    return found | {"mse_stored_minus_network": interval(gain)}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("--option", action="append", default=[], help="of the game, NAME=VALUE")
    parser.add_argument("--games", type=int, default=100)
    parser.add_argument("--root", choices=["gumbel", "puct"], default="gumbel")
    parser.add_argument("--simulations", type=int, default=64)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    game = zf.games.get(arguments.game, **dict(each.split("=", 1) for each in arguments.option))
    best = find_best(game.name, game.options)
    if best is None:
        parser.error(f"there are no shipped weights for {game}")
    settings = {"root": arguments.root, "num_simulations": arguments.simulations}
    evaluator = load_file(best.path, game, num_threads=1)
    found = measure(game, evaluator, arguments.games, arguments.seed, **settings)
    for name in ("network", "stored"):
        bias, mse = found[name]["bias"], found[name]["mse"]
        print(
            f"{name:8} bias {bias['mean']:+.3f} ± {bias['standard_error']:.3f}, "
            f"mse {mse['mean']:.3f} ± {mse['standard_error']:.3f}"
        )
    command = " ".join(["bench/search/root_value.py", *sys.argv[1:]])
    record("root-value", command, {"weights": str(best), **settings, **found})


if __name__ == "__main__":
    main()
