"""Which of two networks learns more from as many games of its own: both train, then they play.

    python bench/strength/equal_games.py beastybar large places-medium --games 16000

Both runs have the same settings but for the network, 200 simulations every move, and end after so
many games, however long they take. The match is at 200 simulations, in pairs of deals. Runs stay
where $ZEROFLEET_RUNS says; without it they are removed afterwards.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import facts, result_path

import zerofleet as zf

SETTINGS = {
    "search.num_simulations": 200,
    "selfplay.temperature_drop_move": 6,
    "selfplay.final_temperature": 0.2,
    "selfplay.num_groups": 8,
    "selfplay.games_per_group": 256,
    "replay.least_positions": 50_000,
    "replay.samples_per_position": 8,
    "train.batch_size": 2048,
    "train.schedule": "cosine",
    "train.publish_every_steps": 50,
    "rating.every": 0,
    "rating.final_games": 0,
}


def start_training(game, network, num_games):
    """A run that is named after its network, in a process of its own."""
    settings = SETTINGS | {"network.preset": network, "stop.games": num_games}
    command = [sys.executable, "-c", "from zerofleet.cli import main; main()"]
    command += ["train", game, "--preset", "standard", "--run", network]
    for name, value in settings.items():
        command += ["--set", f"{name}={value}"]
    return subprocess.Popen(command)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("game")
    parser.add_argument("networks", nargs=2, help="presets of the game's networks")
    parser.add_argument("--games", type=int, default=16_000, help="of each run")
    parser.add_argument("--match-games", type=int, default=1000)
    parser.add_argument("--simulations", type=int, default=200)
    parser.add_argument("--out", type=Path, help="instead of bench/results/equal-games-DATE.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ.setdefault("ZEROFLEET_RUNS", folder)
        trainings = [
            start_training(arguments.game, network, arguments.games)
            for network in arguments.networks
        ]
        statuses = [training.wait() for training in trainings]
        if any(statuses):
            sys.exit("a run failed")
        first, second = (
            f"run:{network},sims={arguments.simulations}" for network in arguments.networks
        )
        match = zf.arena.match(arguments.game, second, first, num_games=arguments.match_games)
    result = facts(" ".join(["bench/strength/equal_games.py", *sys.argv[1:]]))
    result["found"] = {
        "first": first,
        "second": second,
        "games_of_each": arguments.games,
        "score_of_second": match.score,
        "interval": match.interval,
        "match_games": arguments.match_games,
    }
    print(json.dumps(result["found"], indent=1))
    (arguments.out or result_path("equal-games")).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
