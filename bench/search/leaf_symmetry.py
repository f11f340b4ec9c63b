"""What it is worth to evaluate each leaf under a random symmetry of its game.

    .venv/bin/python bench/search/leaf_symmetry.py gomoku --option size=15 --games 400

The shipped weights with such leaves play against themselves without, at equal simulations. A leaf's
symmetry is drawn from its observation, so that equal positions have equal evaluations. --mean takes
the mean over all symmetries: what drawing one can gain at most, at a multiple of the cost.
"""

import argparse
import sys
import zlib
from pathlib import Path

import numpy as np

import zerofleet as zf
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.infer.load import load_named

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record


class Symmetric:
    """An evaluator that sees observations under symmetries.

    B rows, N bytes of an observation, A actions, O outcomes, S symmetries.
    """

    def __init__(self, game, evaluate, takes_mean):
        self._evaluate = evaluate
        self._takes_mean = takes_mean
        self._new_action_SA = np.array([action_A for action_A, _ in game.symmetries], np.int64)
        self._old_byte_SN = np.argsort([byte_N for _, byte_N in game.symmetries], axis=1)

    def __call__(self, rows_BN):
        num_symmetries = len(self._new_action_SA)
        if self._takes_mean:
            found = [
                self._under(rows_BN, np.full(len(rows_BN), each)) for each in range(num_symmetries)
            ]
            logits, outcomes = (np.mean(parts, axis=0) for parts in zip(*found, strict=True))
            return logits, outcomes
        drawn_B = np.array([zlib.crc32(row_N) % num_symmetries for row_N in rows_BN])
        return self._under(rows_BN, drawn_B)

    def _under(self, rows_BN, symmetry_B):
        seen_BN = np.take_along_axis(rows_BN, self._old_byte_SN[symmetry_B], axis=1)
        logits_BA, outcomes_BO = self._evaluate(seen_BN)
        return np.take_along_axis(logits_BA, self._new_action_SA[symmetry_B], axis=1), outcomes_BO


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("--option", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--games", type=int, default=400)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--mean", action="store_true", help="over all symmetries")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    game = zf.games.get(given.game, **dict(text.split("=", 1) for text in given.option))
    plain = load_named("best", game)
    symmetric = Symmetric(game, plain, given.mean)

    def show(num_done, num_games):
        print(f"{num_done:,} of {num_games:,} games", file=sys.stderr, end="\r", flush=True)

    found = zf.arena.match(
        game,
        lambda: SearchPlayer("symmetric", symmetric, given.simulations),
        lambda: SearchPlayer("plain", plain, given.simulations),
        given.games,
        given.seed,
        on_progress=show,
    )
    low, high = found.interval
    print(f"{found.score:.1%} ({low:.1%} to {high:.1%}) of {found.num_games} games")
    record(
        "leaf-symmetry",
        "bench/search/leaf_symmetry.py " + " ".join(sys.argv[1:]),
        {"score": found.score, "low": low, "high": high, "games": found.num_games},
    )


if __name__ == "__main__":
    main()
