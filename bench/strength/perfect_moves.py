"""The fraction of perfect moves in Connect Four, by category of position.

    .venv/bin/python bench/strength/perfect_moves.py --simulations 200 800

The positions and scores come from a solver (tests/oracles/connect4_scores.jsonl). A move is perfect
if it keeps the game-theoretic value: win, draw or loss.
"""

import argparse
import json
import math
import shlex
import sys
from collections import defaultdict
from pathlib import Path

import zerofleet as zf
from zerofleet.arena.statistics import Z_95

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

ORACLE = Path(__file__).parents[2] / "tests" / "oracles" / "connect4_scores.jsonl"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--player", default="best", help="with ,sims=N of --simulations after it")
    parser.add_argument("--simulations", type=int, nargs="+", default=[200, 800])
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    found = {}
    for simulations in arguments.simulations:
        text = f"{arguments.player},sims={simulations}"
        with zf.arena.player("connect4", text) as player:
            found[simulations] = perfect_moves(player, arguments.seed)
        for kind, each in found[simulations].items():
            interval = f"{each['low']:.1%} to {each['high']:.1%}"
            print(f"{text} {kind:14} {each['positions']:3} {each['score']:.1%} ({interval})")
    command = shlex.join(["bench/strength/perfect_moves.py", *sys.argv[1:]])
    record("perfect-moves-connect4", command, {"player": arguments.player, "by_simulations": found})


def perfect_moves(player, seed):
    """By category: the number of positions, and the fraction of perfect moves with its interval."""
    cases = [json.loads(line) for line in ORACLE.read_text().splitlines()]
    game = zf.games.get("connect4")
    positions = [game.from_text(case["moves"]) for case in cases]
    chosen = player.choose_many(positions, [seed] * len(cases))
    hits = defaultdict(list)
    for case, action in zip(cases, chosen, strict=True):
        best = max(sign(score) for score in case["scores"] if score is not None)
        hits[case["cat"]].append(sign(case["scores"][action]) == best)
    return {
        kind: {"positions": len(found), **share(sum(found), len(found))}
        for kind, found in sorted(hits.items())
    }


def sign(score):
    return (score > 0) - (score < 0)


def share(num_hits, num_all):
    """A proportion with its 95 % Wilson interval."""
    mean, z = num_hits / num_all, Z_95
    middle = (mean + z * z / (2 * num_all)) / (1 + z * z / num_all)
    spread = math.sqrt(mean * (1 - mean) / num_all + z * z / (4 * num_all**2))
    half_width = z * spread / (1 + z * z / num_all)
    # Rounding must neither exclude the mean nor leave 0 to 1.
    return {
        "score": mean,
        "low": max(0.0, min(middle - half_width, mean)),
        "high": min(1.0, max(middle + half_width, mean)),
    }


if __name__ == "__main__":
    main()
