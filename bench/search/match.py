"""Strength of one search configuration against another, at equal simulations.

    .venv/bin/python bench/search/match.py beastybar 200 \\
        opponent_nodes=pooled opponent_nodes=per_hand --pairs 1000

Both sides use the playout evaluator. Games are paired: same deal and dice, seats swapped. Prints
the score of the first side with its 95 % interval over pairs.
"""

import argparse
import statistics
from concurrent.futures import ProcessPoolExecutor
from random import Random

import zerofleet as zf


def settings_of(text):
    """Parses c_puct=2,root=gumbel into keyword arguments."""
    settings = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        try:
            settings[name] = float(value) if "." in value else int(value)
        except ValueError:
            settings[name] = value
    return settings


def play(game, sides, num_simulations, deal_seed, dice_seed):
    """The reward of player 0, who searches with sides[0]."""
    position = game.new_position(seed=deal_seed)
    dice = Random(dice_seed)
    seed = dice_seed
    while position.to_move != zf.OVER:
        if position.to_move == zf.CHANCE:
            ids, weights = zip(*position.chance_outcomes(), strict=True)
            position.play(dice.choices(ids, weights)[0])
            continue
        seed += 1
        found = zf.search.analyse(
            position,
            "playout",
            num_simulations=num_simulations,
            seed=seed,
            **sides[position.to_move],
        )
        position.play(found.best_action)
    return position.rewards()[0]


def play_pair(name, first, second, num_simulations, number):
    """The first side's score over one deal, played from both seats."""
    game = zf.games.get(name)
    largest = max(outcome.reward for outcome in game.outcomes)
    seed = 1000 * number
    there = play(game, (first, second), num_simulations, seed, seed)
    back = play(game, (second, first), num_simulations, seed, seed)
    return (there - back) / (4 * largest) + 0.5


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("num_simulations", type=int)
    parser.add_argument("first", type=str)
    parser.add_argument("second", type=str)
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    sides = settings_of(arguments.first), settings_of(arguments.second)
    with ProcessPoolExecutor(arguments.processes) as pool:
        futures = [
            pool.submit(play_pair, arguments.game, *sides, arguments.num_simulations, number)
            for number in range(arguments.pairs)
        ]
        scores = [future.result() for future in futures]
    mean = statistics.fmean(scores)
    error = 1.96 * statistics.stdev(scores) / len(scores) ** 0.5
    print(
        f"{arguments.game}, {arguments.num_simulations} simulations, {2 * len(scores)} games: "
        f"{arguments.first} scores {100 * mean:.1f} % ± {100 * error:.1f} "
        f"against {arguments.second}"
    )


if __name__ == "__main__":
    main()
