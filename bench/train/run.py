"""Time budget of a training run per game, and self-play throughput over bare inference.

    .venv/bin/python bench/train/run.py [--seconds 60] [--games connect4 gomoku] [--no-record]

Trains each game from scratch with its preset `fast` in a temporary folder; the time before the
first training step is excluded. Columns are fractions of the worker thread (search, inference,
waiting) and of the trainer thread (training, waiting). The last column is self-play's inferences/s,
while it may play, over those of the bare evaluator at the same batch size. Cores share caches and
power, so a process trains beside the bare evaluator, as in the run.
"""

import argparse
import multiprocessing
import os
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

import zerofleet as zf
from zerofleet import metrics, nets
from zerofleet.config import read
from zerofleet.fleet.callbacks import ForSeconds

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

NO_RATING = ["rating.interval_minutes=0", "rating.final_games=0", "rating.opponents=[]"]
PATIENCE_S = 600.0
"""For a run to begin training and to be measured."""
START_S = 8.0
"""Startup time of the training process."""


def train_forever(game, preset, options, batch_size):
    """Trains on random samples until terminated."""
    torch.set_num_threads(1)
    network = nets.build(game_of(game), preset, **options)
    rows = torch.randint(0, 2, (batch_size, network.spec.observation_bytes), dtype=torch.uint8)
    optimizer = torch.optim.AdamW(network.parameters())
    while True:
        output = network(rows)
        loss = output.policy_logits_BA.square().mean() + output.outcome_logits_BO.square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def game_of(config):
    return zf.games.get(config.name, **config.options)


def bare_inferences_per_s(run, config, seconds):
    """Throughput of the run's evaluator alone, on observations of its game."""
    evaluator = zf.load(run)
    game = game_of(config.game)
    (data,) = zf.selfplay.play(game, "hash", num_episodes=1, num_simulations=4)
    rows, _, _ = zf.games.Episode.decode(data).observations(game)
    batch_size = config.selfplay.games_per_group
    batch = np.resize(rows, (batch_size, rows.shape[1]))
    network = config.network
    beside = multiprocessing.get_context("spawn").Process(
        target=train_forever,
        args=(config.game, network.preset, network.options, config.train.batch_size),
        daemon=True,
    )
    beside.start()
    time.sleep(START_S)
    num_batches, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        evaluator(batch)
        num_batches += 1
    per_s = num_batches * batch_size / (time.perf_counter() - start)
    beside.terminate()
    beside.join()
    return per_s


def measure(game, seconds):
    """Trains for `seconds` from the first step, then reads the metrics of the run."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZEROFLEET_RUNS"] = folder
        run = zf.train(
            game,
            preset="fast",
            run="r",
            minutes=PATIENCE_S / 60,
            settings=NO_RATING,
            on_step=ForSeconds(seconds),
        )
        records = [each for each in metrics.read(run.folder) if each["kind"] == "status"]
        config = read(run.config_path)
        bare = bare_inferences_per_s("r", config, seconds=4)
    trained = [each for each in records if each["step"] > 0]
    if len(trained) < 2:
        sys.exit(
            f"{game}: {len(trained)} status records since the first step; use a larger --seconds"
        )
    first, last = trained[0], trained[-1]
    wall_s = last["elapsed_s"] - first["elapsed_s"]

    def per_s(name):
        return (last[name] - first[name]) / wall_s

    inferences_per_s = per_s("inferences") / (1 - per_s("waiting_to_play_s"))
    return {
        "game": game,
        "games_per_s": per_s("games"),
        "rows_per_s": per_s("rows"),
        "steps_per_s": per_s("step"),
        "worker": {
            "search": per_s("search_s"),
            "inference": per_s("inference_s"),
            "waiting": per_s("waiting_to_play_s"),
        },
        "trainer": {
            "training": per_s("training_s"),
            "intake": per_s("intake_s"),
            "waiting": per_s("waiting_to_train_s"),
        },
        "batch_size": config.selfplay.games_per_group,
        "inferences_per_s": inferences_per_s,
        "bare_inferences_per_s": bare,
        "over_bare": inferences_per_s / bare,
    }


def line_of(found):
    worker, trainer = found["worker"], found["trainer"]
    return (
        f"{found['game']:11} {found['games_per_s']:7.1f} {found['rows_per_s']:9.0f}   "
        f"{worker['search']:6.0%} {worker['inference']:9.0%} {worker['waiting']:7.0%}   "
        f"{trainer['training']:8.0%} {trainer['waiting']:7.0%}   "
        f"{found['inferences_per_s']:9,.0f} {found['over_bare']:9.2f}"
    )


HEADER = (
    f"{'game':11} {'games/s':>7} {'rows':>9}   "
    f"{'search':>6} {'inference':>9} {'waiting':>7}   "
    f"{'training':>8} {'waiting':>7}   {'infer./s':>9} {'over bare':>9}"
)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of each game, training")
    parser.add_argument("--games", nargs="*", default=zf.games.names())
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = [measure(game, arguments.seconds) for game in arguments.games]
    table = [HEADER, *(line_of(each) for each in found)]
    print("\n".join(table))
    if arguments.no_record:
        return
    command = f"bench/train/run.py {' '.join(sys.argv[1:])}".strip()
    record("train", command, {"found": found, "table": table})


if __name__ == "__main__":
    main()
