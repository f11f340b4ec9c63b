"""Where the time of a training run goes, per game, and how near self-play comes to bare inference.

    .venv/bin/python bench/train/run.py [--seconds 60] [--games connect4 gomoku] [--no-record]

Each game is trained from nothing with its preset `fast` in a folder that is thrown away. Shares are
of the worker's thread (search, inference, waiting) and of the trainer's (training, waiting). The
last column is self-play's inferences per second, while it was allowed to play, over what the bare
evaluator gives in this process at the same batch size.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import zerofleet as zf
from zerofleet import metrics
from zerofleet.config import read

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

NO_RATING = ["rating.every=0", "rating.final_games=0"]


def bare_rate(run, batch_size, seconds):
    """Inferences per second of the run's evaluator alone, on observations of its own game."""
    evaluator = zf.load(run)
    config = read(Path(os.environ["ZEROFLEET_RUNS"]) / run / "config.yaml")
    game = zf.games.get(config.game.name, **config.game.options)
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=4)
    rows, _, _ = zf.games.Episode.decode(data).observations(game)
    batch = np.resize(rows, (batch_size, rows.shape[1]))
    evaluator(batch)
    num_batches, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        evaluator(batch)
        num_batches += 1
    return num_batches * batch_size / (time.perf_counter() - start)


def measure(game, seconds):
    """Trains for so long, then reads what the run wrote about itself."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZEROFLEET_RUNS"] = folder
        zf.train(game, preset="fast", run="r", minutes=seconds / 60, settings=NO_RATING)
        status = [each for each in metrics.read(Path(folder) / "r") if each["kind"] == "status"][-1]
        config = read(Path(folder) / "r" / "config.yaml")
        batch_size = config.selfplay.games_per_group
        bare = bare_rate("r", batch_size, seconds=2)
    elapsed_s = status["elapsed_s"]
    playing_s = elapsed_s - status["waiting_to_play_s"]
    return {
        "game": game,
        "games_per_s": status["games"] / elapsed_s,
        "positions_per_s": status["positions"] / elapsed_s,
        "steps_per_s": status["step"] / elapsed_s,
        "worker": {
            "search": status["search_s"] / elapsed_s,
            "inference": status["inference_s"] / elapsed_s,
            "waiting": status["waiting_to_play_s"] / elapsed_s,
        },
        "trainer": {
            "training": status["training_s"] / elapsed_s,
            "intake": status["intake_s"] / elapsed_s,
            "waiting": status["waiting_to_train_s"] / elapsed_s,
        },
        "batch_size": batch_size,
        "inferences_per_s": status["inferences"] / playing_s,
        "bare_inferences_per_s": bare,
        "over_bare": status["inferences"] / playing_s / bare,
    }


def line_of(found):
    worker, trainer = found["worker"], found["trainer"]
    return (
        f"{found['game']:11} {found['games_per_s']:7.1f} {found['positions_per_s']:9.0f}   "
        f"{worker['search']:6.0%} {worker['inference']:9.0%} {worker['waiting']:7.0%}   "
        f"{trainer['training']:8.0%} {trainer['waiting']:7.0%}   "
        f"{found['inferences_per_s']:9,.0f} {found['over_bare']:9.2f}"
    )


HEADER = (
    f"{'game':11} {'games/s':>7} {'positions':>9}   "
    f"{'search':>6} {'inference':>9} {'waiting':>7}   "
    f"{'training':>8} {'waiting':>7}   {'infer./s':>9} {'over bare':>9}"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of each game")
    parser.add_argument("--games", nargs="*", default=zf.games.names())
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = [measure(game, arguments.seconds) for game in arguments.games]
    table = [HEADER, *(line_of(each) for each in found)]
    print("\n".join(table))
    if arguments.no_record:
        return
    command = f"bench/train/run.py --seconds {arguments.seconds:g}"
    record("train", command, {"found": found, "table": table})


if __name__ == "__main__":
    main()
