"""What replay.use_solved_values changes in the value targets of a run's newest games.

    zerofleet bench solve targets RUN --games 1000

Of all rows: which share has exact targets. Of those: how often the game's outcome is another than
the exact value, and how far root value and target are off without the setting. Values are rewards.
"""

import argparse
import shlex
import sys
from collections import deque
from contextlib import closing
from pathlib import Path

import numpy as np

from zerofleet.config import read
from zerofleet.games import Episode
from zerofleet.replay.log import EpisodeLog
from zerofleet.runs.folder import find

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("run", help="one that nobody trains meanwhile")
    parser.add_argument("--games", type=int, default=1000)
    parser.add_argument("--no-record", action="store_true")
    arguments = parser.parse_args()
    run = find(arguments.run)
    game, replay = run.game(), read(run.config_path).replay
    with closing(EpisodeLog(run.episodes, game, replay)) as log:
        newest = deque(log.episodes(), maxlen=arguments.games)
        episodes = [Episode.decode(data) for data in newest]
        found = {"game": repr(game), "games_of_run": log.position.num_episodes}
    found |= compared(game, episodes, replay.value_target_q_ratio, replay.value_target_lambda)
    print(found)
    if not arguments.no_record:
        command = shlex.join(["zerofleet", "bench", "solve", "targets", *sys.argv[1:]])
        record("solved-targets", command, found)


def compared(game, episodes, q_ratio, value_lambda):
    rewards_O = np.array([outcome.reward for outcome in game.outcomes])
    exact, root, outcome, num_rows = [], [], [], 0
    for episode in episodes:
        plain = episode.rows(game, value_lambda)
        rows = episode.rows(game, value_lambda, use_solved_values=True)
        solved_R = rows.is_solved.astype(bool)
        num_rows += len(solved_R)
        for values, of in ((exact, rows), (root, plain)):
            shares_RO = of.search_outcomes[solved_R] / np.iinfo(np.uint16).max
            values.extend(shares_RO @ rewards_O)
        outcome.extend(rewards_O[plain.outcome[solved_R]])
    exact, root, outcome = map(np.array, (exact, root, outcome))
    target = q_ratio * root + (1 - q_ratio) * outcome
    return {
        "games": len(episodes),
        "rows": num_rows,
        "share_solved": len(exact) / num_rows,
        "outcome_is_another": float((np.abs(outcome - exact) > 1e-3).mean()),
        "root_value_off": float(np.abs(root - exact).mean()),
        "target_off": float(np.abs(target - exact).mean()),
    }


if __name__ == "__main__":
    main()
