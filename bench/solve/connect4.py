"""How far networks are off in Connect Four, without search, on positions that the solver knows.

    zerofleet bench solve connect4
    zerofleet bench solve connect4 --players run:c4 best --positions 4000

Positions: of games between the first player's policy and `heuristic`, with twelve discs or more,
none twice. Of each network: the mean difference of its value and the exact one (1 won, 0 drawn, -1
lost), and how often the move that it likes best loses value, among positions in which some move
does. Apart for positions from 24 discs on, which training takes exact values of where
`replay.use_solved_values` is set.
"""

import argparse
import shlex
import sys
from pathlib import Path
from random import Random

import numpy as np

import zerofleet as zf
from zerofleet.arena.players import SearchText, load_evaluator
from zerofleet.arena.statistics import Z_95

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

LEAST_DISCS, SOLVED_DISCS = 12, 24


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--players", nargs="+", default=["best"])
    parser.add_argument("--positions", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
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
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "connect4", *sys.argv[1:]])
        record("solve-connect4", command, {"players": found})


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
