"""How often a trained run plays a perfect move in Connect Four, by kind of position.

    .venv/bin/python bench/strength/connect4.py RUN [--simulations 200]

The positions and their scores come from a solver (tests/oracles/connect4_scores.jsonl). A move
counts as perfect if it keeps what the position is worth: a win, a draw, or a loss.
"""

import argparse
import json
from collections import defaultdict
from pathlib import Path

import zerofleet as zf

ORACLE = Path(__file__).parents[2] / "tests" / "oracles" / "connect4_scores.jsonl"


def sign(score):
    return (score > 0) - (score < 0)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run")
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    evaluator = zf.load(arguments.run)
    game = zf.games.get("connect4")
    perfect, total = defaultdict(int), defaultdict(int)
    for line in ORACLE.read_text().splitlines():
        case = json.loads(line)
        position = game.from_text(case["moves"])
        found = zf.search.analyse(
            position, evaluator, num_simulations=arguments.simulations, seed=arguments.seed
        )
        best = max(sign(score) for score in case["scores"] if score is not None)
        total[case["cat"]] += 1
        perfect[case["cat"]] += sign(case["scores"][found.best_action]) == best
    print(f"{arguments.run}, weights {evaluator.version}, {arguments.simulations} simulations")
    for category in sorted(total):
        share = 100 * perfect[category] / total[category]
        print(f"  {category:14} {share:5.1f} %  ({perfect[category]} of {total[category]})")


if __name__ == "__main__":
    main()
