"""Compares networks after the same number of self-play games: concurrent runs, then matches.

    python bench/strength/equal_games.py beastybar large cards-medium --games 16000
    python bench/strength/equal_games.py beastybar large places-medium,network.options.dropout=0.3

All runs share their settings except the network and the settings after its name. They search 200
simulations per move and end after --games games, however long that takes. Then each plays a match
of paired games against the first at 200 simulations. Runs are named after their networks and stay
in $ZEROFLEET_RUNS, which must have no runs of these names; without it they are deleted.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import facts, result_path

import zerofleet as zf
from zerofleet.arena.statistics import estimate
from zerofleet.runs.folder import run_names, runs_folder

SETTINGS = {
    "search.num_simulations": 200,
    "selfplay.full_search_probability": 1,
    "selfplay.temperature_drop_move": 6,
    "selfplay.final_temperature": 0.2,
    "selfplay.num_groups": 4,
    "selfplay.games_per_group": 256,
    "replay.min_rows": 50_000,
    "replay.samples_per_row": 4,
    "replay.value_target_q_ratio": 0.6,
    "train.batch_size": 1024,
    "train.publish_every_steps": 50,
    "rating.interval_minutes": 0,
    "rating.final_games": 0,
}

MATCH_PARTS = 8
"""Concurrent processes per match, each with its own deals; one alone does not keep a GPU busy."""


def settings_of(text):
    """Of PRESET[,SETTING=VALUE...]."""
    network, *own_settings = text.split(",")
    return [f"network.preset={network}", *own_settings]


class Contestant:
    """A network and the run that trains it, in its own process."""

    def __init__(self, text, index):
        self.text = text
        self.run = f"{text.partition(',')[0]}-{index}"
        self.settings = settings_of(text)

    def start_training(self, game, settings):
        command = [sys.executable, "-c", "from zerofleet.cli import main; main()"]
        command += ["train", game, "--preset", "standard", "--run", self.run]
        for setting in [*settings, *self.settings]:
            command += ["--set", setting]
        return subprocess.Popen(command)


def pair_scores(game, first, second, num_games, seed):
    return zf.arena.match(game, first, second, num_games, seed, num_threads=2).pair_scores


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("networks", nargs="+", help="PRESET[,SETTING=VALUE...]")
    parser.add_argument("--games", type=int, default=16_000, help="of each run")
    parser.add_argument("--match-games", type=int, default=1024)
    parser.add_argument("--simulations", type=int, default=200, help="of the matches")
    parser.add_argument("--out", type=Path, help="instead of bench/results/equal-games-DATE.json")
    arguments = parser.parse_args()
    if arguments.match_games % (2 * MATCH_PARTS):
        parser.error(f"--match-games must be a multiple of {2 * MATCH_PARTS}")
    contestants = [Contestant(text, index) for index, text in enumerate(arguments.networks, 1)]
    settings = [f"{name}={value}" for name, value in SETTINGS.items()]
    settings.append(f"stop.games={arguments.games}")
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ZEROFLEET_RUNS", folder)
        if known := {one.run for one in contestants} & set(run_names()):
            parser.error(f"{runs_folder()} already has runs of these names: {sorted(known)}")
        trainings = [one.start_training(arguments.game, settings) for one in contestants]
        statuses = [training.wait() for training in trainings]
        if any(statuses):
            sys.exit("a run failed")
        first, *others = contestants
        result = facts(" ".join(["bench/strength/equal_games.py", *sys.argv[1:]]))
        result |= {"games_of_each": arguments.games, "match_games": arguments.match_games}
        result |= {"settings": SETTINGS, "first": first.text, "scores_against_the_first": {}}
        path = arguments.out or result_path("equal-games")
        with ProcessPoolExecutor(MATCH_PARTS, get_context("spawn")) as processes:
            parts = {
                other.text: [
                    processes.submit(
                        pair_scores,
                        arguments.game,
                        f"run:{other.run},sims={arguments.simulations}",
                        f"run:{first.run},sims={arguments.simulations}",
                        arguments.match_games // MATCH_PARTS,
                        seed,
                    )
                    for seed in range(1, MATCH_PARTS + 1)
                ]
                for other in others
            }
            for text, parts_of_match in parts.items():
                scores = [score for part in parts_of_match for score in part.result()]
                found = estimate(scores, 0, 1)
                score = {"score": found.mean, "interval": (found.low, found.high)}
                result["scores_against_the_first"][text] = score
                print(text, json.dumps(score), flush=True)
                path.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
