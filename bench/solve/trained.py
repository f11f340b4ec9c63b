"""What training on exact values does: pairs of runs of tic-tac-toe, with and without.

    zerofleet bench solve trained --seeds 1 2 3 --steps 300

The runs of a pair differ in `replay.use_solved_values` alone; which of them comes first alternates.
Of each network, without search, over all positions before the end: the mean difference of its value
and the exact one (1 won, 0 drawn, -1 lost), and the share of positions in which the move that it
likes best loses value, among those in which some move does.
"""

import argparse
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

import zerofleet as zf
from zerofleet.arena.players import SearchText, load_evaluator

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

GAME = zf.games.get("tictactoe")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    positions = all_positions()
    found = {"positions": len(positions), "with": {}, "without": {}}
    with tempfile.TemporaryDirectory() as runs:
        os.environ["ZEROFLEET_RUNS"] = runs
        for pair, seed in enumerate(arguments.seeds):
            for uses in ("with", "without") if pair % 2 else ("without", "with"):
                seconds = train(f"{uses}-{seed}", uses == "with", seed, arguments.steps)
                evaluate = load_evaluator(GAME, SearchText.of(f"run:{uses}-{seed}"))
                judged = judge(evaluate, positions)
                found[uses][seed] = {**judged, "cpu_seconds": seconds}
                print(f"{uses}, seed {seed}: {found[uses][seed]}", flush=True)
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "trained", *sys.argv[1:]])
        record("solved-values-trained", command, found)


def train(name, uses, seed, steps):
    """Processor time of the whole run."""
    before = os.times()
    settings = ["rating.games=0", "rating.final_games=0", f"replay.use_solved_values={uses}"]
    zerofleet = Path(sys.executable).with_name("zerofleet")
    command = [zerofleet, "train", "tictactoe", "--preset", "fast", "--no-dash"]
    command += ["--run", name, "--seed", str(seed), "--steps", str(steps)]
    for setting in settings:
        command += ["--set", setting]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    after = os.times()
    children = ("children_user", "children_system")
    return round(sum(getattr(after, each) - getattr(before, each) for each in children), 1)


def all_positions():
    """That can come up, before the end; those with the same stones once."""
    found, open_ = {}, [GAME.new_position()]
    while open_:
        position = open_.pop()
        key = str(position.describe())
        if position.to_move == zf.OVER or key in found:
            continue
        found[key] = position
        for action in position.legal_actions():
            after = position.copy()
            after.play(action)
            open_.append(after)
    return list(found.values())


def judge(evaluate, positions):
    rewards_O = np.array([outcome.reward for outcome in GAME.outcomes])
    rows_BN = np.stack([position.observe(position.to_move) for position in positions])
    logits_BA, outcomes_BO = evaluate(rows_BN)
    exact_B = np.array([zf.solve.value(position) for position in positions]) @ rewards_O
    losses = []
    for position, logits_A, exact in zip(positions, logits_BA, exact_B, strict=True):
        kept = {action: value_of(position, action) == exact for action in position.legal_actions()}
        if not all(kept.values()):
            losses.append(not kept[max(kept, key=lambda action: logits_A[action])])
    return {
        "error": round(float(np.abs(outcomes_BO @ rewards_O - exact_B).mean()), 4),
        "decisions_that_matter": len(losses),
        "share_that_lose": round(float(np.mean(losses)), 4),
    }


def value_of(position, action):
    """The exact reward of playing it, in the view of the player to move."""
    after = position.copy()
    after.play(action)
    if after.to_move == zf.OVER:
        return after.rewards()[position.to_move]
    rewards_O = np.array([outcome.reward for outcome in GAME.outcomes])
    return -float(np.dot(zf.solve.value(after), rewards_O))


if __name__ == "__main__":
    main()
