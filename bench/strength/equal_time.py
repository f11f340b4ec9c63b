"""Compares settings or code at equal training time: one run per arm and seed, then matches.

    python bench/strength/equal_time.py beastybar fast --minutes 4 --seeds 3 --threads 1 \\
        before=../before/.venv/bin/python after half,replay.value_target_q_ratio=0.5

An arm is NAME[=PYTHON][,SETTING=VALUE...]: its name, the Python whose zerofleet trains it (default:
this one) and its differences from the preset. Each arm trains once per seed, for the same minutes.
Every run has its own cores; as many run concurrently as there are cores. Then all arms of a seed
play a round robin, with this zerofleet. Scores are those of the arm named first, over pairs of
games, and are recorded after each match. Runs are named NAME-SEED and stay in $ZEROFLEET_RUNS,
which must have no runs of these names; without it they are deleted.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import facts, result_path

import zerofleet as zf
from zerofleet.arena.statistics import estimate
from zerofleet.errors import ZerofleetError
from zerofleet.runs.folder import find, run_names, runs_folder
from zerofleet.runs.summaries import summary

WITHOUT_RATINGS = ["rating.interval_minutes=0", "rating.final_games=0"]


@dataclass(frozen=True)
class Arm:
    name: str
    python: str
    settings: tuple[str, ...]

    @classmethod
    def of(cls, text):
        named, *settings = text.split(",")
        name, _, python = named.partition("=")
        if not name or not all("=" in setting for setting in settings):
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME[=PYTHON][,SETTING=VALUE...]")
        if python and not os.access(python, os.X_OK):
            raise argparse.ArgumentTypeError(f"{text!r}: {python} cannot be executed")
        return cls(name, python or sys.executable, tuple(settings))

    def run(self, seed):
        return f"{self.name}-{seed}"


def stay_on_cores(core_sets):
    """Pins this process and its children to the next free cores."""
    os.sched_setaffinity(0, core_sets.get())


def train(arm, seed, game, preset, minutes, num_threads):
    """Trains a run and returns its games and steps. Its log lies beside the runs."""
    settings = [f"run.num_threads={num_threads}", *WITHOUT_RATINGS, *arm.settings]
    command = [arm.python, "-c", "from zerofleet.cli import main; main()"]
    command += ["train", game, "--preset", preset, "--run", arm.run(seed), "--seed", str(seed)]
    command += ["--minutes", str(minutes), "--device", "cpu"]
    for setting in settings:
        command += ["--set", setting]
    log = runs_folder() / f"{arm.run(seed)}.log"
    with log.open("w") as out:
        done = subprocess.run(command, stdout=out, stderr=subprocess.STDOUT)
    if done.returncode != 0:
        raise RuntimeError(f"{arm.run(seed)} failed:\n{log.read_text()[-2000:]}")
    found = summary(find(arm.run(seed)).folder)
    return {"games": found.num_games, "steps": found.num_steps}


def pair_scores(first, second, seed, num_games, num_simulations):
    """The first arm's score in each pair."""
    runs = [arm.run(seed) for arm in (first, second)]
    players = [f"run:{run},sims={num_simulations}" for run in runs]
    return zf.arena.match(find(runs[0]).game(), *players, num_games, seed).pair_scores


def score_of(scores):
    found = estimate(scores, 0, 1)
    return {"score": found.mean, "interval": [found.low, found.high], "pairs": len(scores)}


def pooled(by_seed):
    """Over all pairs, ignoring the variance between seeds; and over the means of the seeds."""
    means = [statistics.fmean(scores) for scores in by_seed.values()]
    found = {"all_pairs": score_of([score for scores in by_seed.values() for score in scores])}
    if len(means) > 1:
        error = statistics.stdev(means) / len(means) ** 0.5
        found["over_seeds"] = {"mean": statistics.fmean(means), "standard_error": error}
    return found


class Record:
    """The result file, rewritten after each result."""

    def __init__(self, path, found):
        self.path = path
        self._found = found | {"runs": {}, "matches": {}}
        self._scores = {}

    def add_run(self, run, came_to):
        self._found["runs"][run] = came_to
        self._write(run, came_to)

    def add_match(self, first, second, seed, scores):
        match = f"{first.name} against {second.name}"
        by_seed = self._scores.setdefault(match, {})
        by_seed[seed] = scores
        self._found["matches"][match] = {
            "seeds": {each: score_of(by_seed[each]) for each in sorted(by_seed)},
            "pooled": pooled(by_seed),
        }
        self._write(f"{match}, seed {seed}", score_of(scores))

    def _write(self, what, found):
        print(what, json.dumps(found), flush=True)
        self.path.write_text(json.dumps(self._found, indent=1) + "\n")


def compare(arguments, record):
    """Trains all arms with all seeds, then plays the matches."""
    cores = sorted(os.sched_getaffinity(0))
    num_places = min(len(cores) // arguments.threads, len(arguments.arms) * arguments.seeds)
    spawn = multiprocessing.get_context("spawn")
    core_sets = spawn.Queue()
    for place in range(num_places):
        core_sets.put(cores[place * arguments.threads : (place + 1) * arguments.threads])
    seeds = range(1, arguments.seeds + 1)
    with ProcessPoolExecutor(num_places, spawn, stay_on_cores, (core_sets,)) as places:
        how = (arguments.game, arguments.preset, arguments.minutes, arguments.threads)
        trainings = {
            places.submit(train, arm, seed, *how): arm.run(seed)
            for seed in seeds
            for arm in arguments.arms
        }
        for done in as_completed(trainings):
            record.add_run(trainings[done], done.result())
        how = (arguments.match_games, arguments.simulations)
        matches = {
            places.submit(pair_scores, first, second, seed, *how): (first, second, seed)
            for seed in seeds
            for first, second in combinations(arguments.arms, 2)
        }
        for done in as_completed(matches):
            record.add_match(*matches[done], done.result())


def arguments_of(parser):
    parser.add_argument("game")
    parser.add_argument("preset")
    parser.add_argument("arms", nargs="+", type=Arm.of, help="NAME[=PYTHON][,SETTING=VALUE...]")
    parser.add_argument("--minutes", type=float, default=4, help="of each run")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each arm")
    parser.add_argument("--threads", type=int, default=1, help="and cores, of each run")
    parser.add_argument("--match-games", type=int, default=400)
    parser.add_argument("--simulations", type=int, default=64, help="of the matches")
    parser.add_argument("--out", type=Path, help="instead of bench/results/equal-time-DATE.json")
    arguments = parser.parse_args()
    names = [arm.name for arm in arguments.arms]
    if len(names) < 2 or len(set(names)) < len(names):
        parser.error(f"needs two or more arms with distinct names, got {', '.join(names)}")
    if not 1 <= arguments.threads <= len(os.sched_getaffinity(0)):
        parser.error(f"--threads must be 1 to {len(os.sched_getaffinity(0))}, the number of cores")
    if arguments.seeds < 1:
        parser.error(f"--seeds must be at least 1, got {arguments.seeds}")
    return arguments


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    arguments = arguments_of(parser)
    result = facts(" ".join(["bench/strength/equal_time.py", *sys.argv[1:]]))
    result |= {"minutes": arguments.minutes, "threads": arguments.threads}
    result |= {"arms": {arm.name: list(arm.settings) for arm in arguments.arms}}
    record = Record(arguments.out or result_path("equal-time"), result)
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ZEROFLEET_RUNS", folder)
        os.environ["CUDA_VISIBLE_DEVICES"] = ""  # the matches run on these cores too
        runs_folder().mkdir(parents=True, exist_ok=True)
        wanted = {arm.run(seed) for arm in arguments.arms for seed in range(1, arguments.seeds + 1)}
        if known := wanted & set(run_names()):
            parser.error(f"{runs_folder()} already has runs of these names: {sorted(known)}")
        try:
            compare(arguments, record)
        except (RuntimeError, ZerofleetError) as error:
            sys.exit(f"equal_time.py: {error}")
    print(f"recorded in {record.path}")


if __name__ == "__main__":
    main()
