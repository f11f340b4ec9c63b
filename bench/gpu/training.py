"""Training alone: samples a second, from a batch that lies ready and with sampling at each step."""

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

NUM_WARM_UPS = 5
"""Steps before the first that counts; the kernels are compiled and the graph is captured within."""


def measure(game_name, preset, batch_size, seconds):
    game = zf.games.get(game_name)
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder), game, ReplayConfig(), seed=1)
        replay.accept(list(zf.selfplay.play(game, "uniform", num_episodes=200, num_simulations=8)))
        try:
            return measure_steps(nets.build(game, preset), replay.sampler, batch_size, seconds)
        finally:
            replay.close()


def measure_steps(network, sampler, batch_size, seconds):
    trainer = Trainer(network, TrainConfig(batch_size=batch_size), torch.device("cuda"))
    batch = sampler.sample(batch_size)
    start = time.perf_counter()
    for _ in range(NUM_WARM_UPS):
        trainer.step(batch)
    trainer.wait()
    compile_s = time.perf_counter() - start
    step_s, _ = seconds_of(trainer, lambda: batch, seconds / 2)
    step_sampled_s, host_s = seconds_of(trainer, lambda: sampler.sample(batch_size), seconds / 2)
    start = time.perf_counter()
    sampler.sample(batch_size)
    sampling_s = time.perf_counter() - start
    return {
        "samples_per_s": batch_size / step_sampled_s,
        "samples_per_s_without_sampling": batch_size / step_s,
        "step_ms": 1000 * step_sampled_s,
        "host_ms": 1000 * host_s,
        "sampling_ms": 1000 * sampling_s,
        "compile_s": compile_s,
        "memory_gib": torch.cuda.max_memory_allocated() / 2**30,
    }


def seconds_of(trainer, next_batch, seconds):
    """Of a step, and of the thread's own work in it."""
    num_steps, start, start_of_work = 0, time.perf_counter(), time.thread_time()
    while time.perf_counter() - start < seconds:
        trainer.step(next_batch())
        num_steps += 1
    trainer.take_reports()
    work_s = time.thread_time() - start_of_work
    return (time.perf_counter() - start) / num_steps, work_s / num_steps


MEASUREMENTS = {
    f"training {game} {preset} {batch_size}": functools.partial(measure, game, preset, batch_size)
    for game, preset, batch_size in [
        ("beastybar", "large", 16384),
        ("beastybar", "places-large", 16384),
        ("beastybar", "small", 1024),
        ("gomoku", "medium", 4096),
        ("backgammon", "small", 4096),
    ]
}
