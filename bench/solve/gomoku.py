"""Gomoku's threat search: nodes/s, and positions solved within 0.1, 1 and 10 s.

    zerofleet bench solve gomoku

Positions: the forced wins of tests/oracles, and positions before the end of games of the shipped
weights in which the winner is to move. The baseline is a search of the same time without the
solver, which proves wins in its own tree (uniform evaluator). One core.
"""

import argparse
import json
import shlex
import sys
import time
from pathlib import Path

import zerofleet as zf
from zerofleet.solve import GomokuSolver

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import ROOT, record

FORCED_WINS = ROOT / "tests" / "oracles" / "gomoku_forced_wins.jsonl"
BOUNDS_S = (0.1, 1.0, 10.0)
BASELINE_S = 1.0
UNBOUNDED = 1 << 40


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--games", type=int, default=20, help="games whose ends are solved")
    parser.add_argument(
        "--plies", type=int, nargs="+", default=[9, 15, 21], help="plies before the end"
    )
    parser.add_argument("--size", type=int, default=15)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    sets = {"forced wins": forced_wins()}
    ends = game_ends(zf.games.get("gomoku", size=arguments.size), arguments.games)
    for plies in arguments.plies:
        found = [positions[-1 - plies] for positions in ends if len(positions) > plies]
        sets[f"{plies} plies before the end"] = found
    print(f"{'':28}{'positions':>10}" + "".join(f"{f'{b:g} s':>8}" for b in BOUNDS_S), end="")
    print(f"{'nodes/s':>12}{'largest s':>11}{f'search {BASELINE_S:g} s':>13}")
    found = {name: measured(name, positions) for name, positions in sets.items()}
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "gomoku", *sys.argv[1:]])
        record("solve-gomoku", command, {"size": arguments.size, "sets": found})


def forced_wins():
    game = zf.games.get("gomoku")
    entries = [json.loads(line) for line in FORCED_WINS.read_text().splitlines()]
    return [
        game.from_describe(
            {
                "board": [entry["board"][at : at + 15] for at in range(0, 225, 15)],
                "player": entry["side"] - 1,
            }
        )
        for entry in entries
    ]


def game_ends(game, num_games):
    """The positions of decisive games of the shipped weights without search."""
    played = zf.arena.match(game, "best,sims=0", "best,sims=0", 2 * num_games, seed=5)
    episodes = [zf.games.Episode.decode(episode) for episode in played.episodes[::2]]
    games = [episode.positions(game) for episode in episodes]
    return [positions for positions in games if any(positions[-1].rewards())]


def measured(name, positions):
    """How many positions are solved in which time, each with an empty table."""
    num_nodes = 0
    times_s, all_times_s = [], []
    for position in positions:
        solver = GomokuSolver(position.game)
        start = time.perf_counter()
        line = solver.threats(position, UNBOUNDED, BOUNDS_S[-1])
        all_times_s.append(time.perf_counter() - start)
        num_nodes += solver.num_nodes
        if line is not None:
            times_s.append(all_times_s[-1])
    solved = {bound: sum(each <= bound for each in times_s) for bound in BOUNDS_S}
    by_search = sum(is_won_by_search(position) for position in positions)
    nodes_per_s = num_nodes / sum(all_times_s)
    largest_s = max(times_s, default=0.0)
    print(f"{name:28}{len(positions):10}" + "".join(f"{solved[b]:8}" for b in BOUNDS_S), end="")
    print(f"{nodes_per_s:12,.0f}{largest_s:11.3f}{by_search:13}", flush=True)
    return {
        "positions": len(positions),
        "solved_within_s": {f"{bound:g}": solved[bound] for bound in BOUNDS_S},
        "largest_s_of_solved": largest_s,
        "nodes_per_s": nodes_per_s,
        f"won_by_search_in_{BASELINE_S:g}_s": by_search,
        "ratio_to_search": solved[BASELINE_S] / by_search if by_search else None,
    }


def is_won_by_search(position):
    found = zf.search.analyse(position, "uniform", seconds=BASELINE_S)
    return found.solved and found.value_to_move == 1


if __name__ == "__main__":
    main()
