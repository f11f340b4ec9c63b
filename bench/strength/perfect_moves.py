"""The fraction of perfect moves in Connect Four, by category of position.

The positions and scores come from a solver (tests/oracles/connect4_scores.jsonl). A move is perfect
if it keeps the game-theoretic value: win, draw or loss.
"""

import json
import math
from collections import defaultdict
from pathlib import Path

import zerofleet as zf
from zerofleet.arena.statistics import Z_95

ORACLE = Path(__file__).parents[2] / "tests" / "oracles" / "connect4_scores.jsonl"


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
    # Rounding must not exclude the mean.
    return {
        "score": mean,
        "low": min(middle - half_width, mean),
        "high": max(middle + half_width, mean),
    }
