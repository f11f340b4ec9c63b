"""Training alone: samples/s with a fixed batch, and with sampling at each step.

Also the speedup of the attention kernels over plain matmul in the same run.
"""

import functools
import statistics
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import torch

import zerofleet as zf
from zerofleet import nets
from zerofleet.config import ReplayConfig, TrainConfig
from zerofleet.nets.layers import Attention, attend_by_matmul
from zerofleet.replay import Replay
from zerofleet.training import Trainer

NUM_WARM_UPS = 5
"""Steps before the measurement, which compile the kernels and capture the graph."""

NUM_TURNS = 3
"""Alternations of the two trainers that are compared."""


@contextmanager
def sampler_of(game):
    with tempfile.TemporaryDirectory() as folder:
        replay = Replay(Path(folder), game, ReplayConfig(), seed=1)
        replay.accept(list(zf.selfplay.play(game, "uniform", num_episodes=200, num_simulations=8)))
        try:
            yield replay.sampler
        finally:
            replay.close()


def trainer_of(game, preset, batch_size, has_kernel=True):
    torch.cuda.reset_peak_memory_stats()
    settings = TrainConfig(batch_size=batch_size)
    trainer = Trainer(nets.build(game, preset), settings, torch.device("cuda"))
    if not has_kernel:
        for module in trainer.network.modules():
            if isinstance(module, Attention):
                module.attend = attend_by_matmul
    return trainer


def warm_up_s(trainer, batch):
    start = time.perf_counter()
    for _ in range(NUM_WARM_UPS):
        trainer.step(batch)
    trainer.wait()
    return time.perf_counter() - start


def measure(game_name, preset, batch_size, seconds):
    game = zf.games.get(game_name)
    with sampler_of(game) as sampler:
        return measure_steps(trainer_of(game, preset, batch_size), sampler, batch_size, seconds)


def measure_gain(game_name, preset, batch_size, seconds):
    """With the kernels and without, alternating, so that the GPU is equally warm for both."""
    game = zf.games.get(game_name)
    with sampler_of(game) as sampler:
        batch = sampler.sample(batch_size)
    trainers = [trainer_of(game, preset, batch_size, has_kernel) for has_kernel in (True, False)]
    compile_s, matmul_compile_s = (warm_up_s(trainer, batch) for trainer in trainers)
    turns = [
        [seconds_of(trainer, lambda: batch, seconds / 2 / NUM_TURNS)[0] for trainer in trainers]
        for _ in range(NUM_TURNS)
    ]
    step_s, matmul_s = (statistics.median(each) for each in zip(*turns, strict=True))
    return {
        "samples_per_s": batch_size / step_s,
        "matmul_samples_per_s": batch_size / matmul_s,
        "gain": matmul_s / step_s,
        "step_ms": 1000 * step_s,
        "compile_s": compile_s,
        "matmul_compile_s": matmul_compile_s,
    }


def measure_steps(trainer, sampler, batch_size, seconds):
    batch = sampler.sample(batch_size)
    compile_s = warm_up_s(trainer, batch)
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
    """Seconds per step, and CPU seconds of this thread per step."""
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
} | {
    "training beastybar large 16384 attention": functools.partial(
        measure_gain, "beastybar", "large", 16384
    )
}
