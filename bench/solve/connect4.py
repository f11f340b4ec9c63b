"""Connect Four: what the solver takes, and how far networks are off without search.

    zerofleet bench solve connect4 times
    zerofleet bench solve connect4 networks --players run:c4 best --positions 4000

`times`: the solver's move in random positions with twelve discs, and all columns of the recorded
positions of tests/oracles with fewer, by their number of discs; each position with an empty table,
in processor time.

`networks`, on positions of games between the first player's policy and `heuristic`, with twelve
discs or more, none twice. Of each network: the mean difference of its value and the exact one (1
won, 0 drawn, -1 lost), and how often the move that it likes best loses value, among positions in
which some move does. Apart for positions from 24 discs on, which training takes exact values of
where `replay.use_solved_values` is set.
"""

import argparse
import json
import shlex
import sys
import time
from collections import defaultdict
from pathlib import Path
from random import Random

import numpy as np

import zerofleet as zf
from zerofleet.arena.players import SearchText, load_evaluator
from zerofleet.arena.statistics import Z_95

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import ROOT, record

SCORES = ROOT / "tests" / "oracles" / "connect4_scores.jsonl"
LEAST_DISCS, SOLVED_DISCS = 12, 24
BOUNDS_S = (0.1, 1.0, 10.0)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    verbs = parser.add_subparsers(dest="verb", required=True)
    times, networks = verbs.add_parser("times"), verbs.add_parser("networks")
    for each in (times, networks):
        each.add_argument("--seed", type=int, default=1)
        each.add_argument("--no-record", action="store_true")
    times.add_argument("--positions", type=int, default=600, help="random ones, twelve discs")
    times.add_argument("--least-discs", type=int, default=6, help="of the recorded positions")
    networks.add_argument("--players", nargs="+", default=["best"])
    networks.add_argument("--positions", type=int, default=2000)
    arguments = parser.parse_args()
    measure = {"times": measure_times, "networks": measure_networks}
    found = measure[arguments.verb](arguments)
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "connect4", *sys.argv[1:]])
        record(f"connect4-{arguments.verb}", command, found)


# ---- the solver alone


def measure_times(arguments):
    random, game = Random(arguments.seed), zf.games.get("connect4")
    positions = [random_position(game, random) for _ in range(arguments.positions)]
    found = {"move, 12 discs": times_of("best_columns", positions)}
    print(f"move, 12 discs: {found['move, 12 discs']}", flush=True)
    recorded = defaultdict(list)
    for line in SCORES.read_text().splitlines():
        moves = json.loads(line)["moves"]
        if arguments.least_discs <= len(moves) < LEAST_DISCS:
            recorded[len(moves)].append(game.from_text(moves))
    for num_discs in sorted(recorded, reverse=True):
        name = f"all columns, {num_discs} discs"
        found[name] = times_of("scores_to_move", recorded[num_discs])
        print(f"{name}: {found[name]}", flush=True)
    return found


def random_position(game, random):
    while True:
        position = game.new_position()
        while position.to_move != zf.OVER and len(position.to_text()) < LEAST_DISCS:
            position.play(random.choice(position.legal_actions()))
        if position.to_move != zf.OVER:
            return position


def times_of(question, positions):
    times_s = []
    for position in positions:
        solver = zf.solve.Connect4Solver()
        start = time.process_time()
        getattr(solver, question)(position)
        times_s.append(time.process_time() - start)
    return {
        "positions": len(positions),
        "mean_s": round(float(np.mean(times_s)), 4),
        "largest_s": round(max(times_s), 3),
        "solved_within_s": {f"{b:g}": sum(each <= b for each in times_s) for b in BOUNDS_S},
    }


# ---- networks


def measure_networks(arguments):
    game = zf.games.get("connect4")
    positions = positions_of_games(game, arguments)
    solver = zf.solve.Connect4Solver()
    scores = [solver.scores_to_move(position) for position in positions]
    found = {
        player: judged(load_evaluator(game, SearchText.of(player), "cpu"), positions, scores)
        for player in arguments.players
    }
    for player, by_discs in found.items():
        for discs, figures in by_discs.items():
            print(f"{player}, {discs}: {figures}", flush=True)
    return {"players": found}


def positions_of_games(game, arguments):
    random, found = Random(arguments.seed), {}
    while len(found) < arguments.positions:
        seed = random.getrandbits(31)
        played = zf.arena.match(game, f"{arguments.players[0]},sims=0", "heuristic", 200, seed)
        for episode in played.episodes:
            for position in zf.games.Episode.decode(episode).positions(game)[LEAST_DISCS:]:
                if position.to_move != zf.OVER:
                    found[position.to_text()] = position
    return random.sample(list(found.values()), arguments.positions)


def judged(evaluate, positions, scores):
    rows_BN = np.stack([position.observe(position.to_move) for position in positions])
    logits_BA, outcomes_BO = evaluate(rows_BN)
    values_B = outcomes_BO[:, 0] - outcomes_BO[:, 2]
    errors, lost = {"late": [], "early": []}, {"late": [], "early": []}
    for position, of_actions, logits_A, value in zip(
        positions, scores, logits_BA, values_B, strict=True
    ):
        signs = {a: np.sign(score) for a, score in enumerate(of_actions) if score is not None}
        exact, chosen = max(signs.values()), max(signs, key=lambda action: logits_A[action])
        when = "late" if len(position.to_text()) >= SOLVED_DISCS else "early"
        errors[when].append(abs(float(value) - exact))
        if len(set(signs.values())) > 1:
            lost[when].append(float(signs[chosen] < exact))
    return {
        f"{low} to {high} discs": {
            "positions": len(errors[when]),
            **mean_of("error", errors[when]),
            "decisions_that_matter": len(lost[when]),
            **mean_of("share_that_lose", lost[when]),
        }
        for when, low, high in (
            ("early", LEAST_DISCS, SOLVED_DISCS - 1),
            ("late", SOLVED_DISCS, 41),
        )
        if lost[when]
    }


def mean_of(name, values):
    """With half its 95 % interval."""
    half = Z_95 * np.std(values, ddof=1) / len(values) ** 0.5
    return {name: round(float(np.mean(values)), 4), f"{name}_half_width": round(float(half), 4)}


if __name__ == "__main__":
    main()
