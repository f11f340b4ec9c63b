"""Training alone: samples a second from batches that lie ready in memory."""

import functools
import tempfile
import time
from pathlib import Path

import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.replay import Replay
from zerofleet.training import Trainer

BATCH_SIZE = 16384
NUM_WARM_UPS = 3


def measure(game_name, preset, seconds):
    game = zf.games.get(game_name)
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder), game, ReplayConfig(), seed=1)
        replay.accept(list(zf.selfplay.play(game, "uniform", num_episodes=200, num_simulations=8)))
        start = time.perf_counter()
        batch = replay.sampler.sample(BATCH_SIZE)
        sampling_s = time.perf_counter() - start
        replay.close()
    network = nets.build(game, preset)
    trainer = Trainer(network, TrainConfig(batch_size=BATCH_SIZE), torch.device("cuda"))
    for _ in range(NUM_WARM_UPS):
        trainer.step(batch)
    num_steps, start = 0, time.perf_counter()
    while time.perf_counter() - start < seconds:
        trainer.step(batch)
        num_steps += 1
    step_s = (time.perf_counter() - start) / num_steps
    return {
        "samples_per_s": BATCH_SIZE / step_s,
        "step_ms": 1000 * step_s,
        "sampling_ms": 1000 * sampling_s,
        "memory_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


MEASUREMENTS = {
    f"training {game} {preset}": functools.partial(measure, game, preset)
    for game, preset in [
        ("beastybar", "large"),
        ("beastybar", "places-large"),
        ("gomoku", "medium"),
    ]
}
