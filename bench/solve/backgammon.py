"""Backgammon: what the shipped weights and the one-sided estimate say of bear-offs that are known.

    zerofleet bench solve backgammon --positions 4000

Positions have one to six checkers a side, at random on the six points, before a roll. The error is
of the expected reward: of the network's value, and of the one-sided estimate as the baseline. Of
all positions of the two-sided table: the error of the one-sided estimate, as a probability to win.
"""

import argparse
import itertools
import shlex
import sys
from pathlib import Path
from random import Random

import numpy as np

import zerofleet as zf
from zerofleet.arena.players import SearchText, load_evaluator

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record


def bearoff(game, mine, theirs):
    """The player about to roll has checkers on the points `mine`, each side counting itself."""
    points = [0] * 24
    for point in mine:
        points[point - 1] += 1
    for point in theirs:
        points[24 - point] -= 1
    return game.from_describe({"points": points, "bar": [0, 0], "dice": [], "player": 0})


def random_bearoff(game, random):
    return bearoff(
        game, *([random.randint(1, 6) for _ in range(random.randint(1, 6))] for _ in range(2))
    )


def all_bearoffs(game):
    """All positions of the two-sided table."""
    homes = [
        points
        for checkers in range(1, 7)
        for points in itertools.combinations_with_replacement(range(1, 7), checkers)
    ]
    return (bearoff(game, *sides) for sides in itertools.product(homes, repeat=2))


def errors_of_estimate(positions):
    """As a probability to win."""
    win = slice(0, 3)
    pairs = ((zf.solve.bearoff_win_estimate(p), sum(zf.solve.value(p)[win])) for p in positions)
    estimated, exact = np.array(list(pairs)).T
    return {"positions": len(exact), **errors_of(estimated, exact)}


def errors_of(values, exact):
    errors = np.abs(np.asarray(values) - exact)
    return {
        "mean": float(errors.mean()),
        "root_mean_square": float(np.sqrt((errors**2).mean())),
        "largest": float(errors.max()),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--positions", type=int, default=4000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    game, random = zf.games.get("backgammon"), Random(arguments.seed)
    rewards_O = np.array([outcome.reward for outcome in game.outcomes])
    positions = [random_bearoff(game, random) for _ in range(arguments.positions)]
    exact = np.array([np.dot(rewards_O, zf.solve.value(position)) for position in positions])
    estimated = [2 * zf.solve.bearoff_win_estimate(position) - 1 for position in positions]
    evaluate = load_evaluator(game, SearchText.of("best"), "cpu")
    rows_BN = np.stack([position.observe(0) for position in positions])
    values = np.concatenate(
        [evaluate(part)[1] @ rewards_O for part in np.array_split(rows_BN, len(rows_BN) // 256 + 1)]
    )
    found = {
        "positions": len(positions),
        "network": errors_of(values, exact),
        "one_sided_estimate": errors_of(estimated, exact),
    }
    found["network_over_estimate"] = found["network"]["mean"] / found["one_sided_estimate"]["mean"]
    found["one_sided_estimate_of_all"] = errors_of_estimate(all_bearoffs(game))
    for name, figures in found.items():
        print(f"{name}: {figures}")
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "backgammon", *sys.argv[1:]])
        record("backgammon-bearoff", command, found)


if __name__ == "__main__":
    main()
