"""Measures which batch size suits a network on a device.

Throughput grows with the batch size up to a point; beyond it games only take longer: twice as many
concurrent games, each twice as slow. So the size doubles as long as throughput gains enough, and
not beyond the throughput of search. Measurements are kept in the cache folder for later starts with
the same network and device.

Shapes: B rows of a batch, N bytes of an observation.
"""

import itertools
import json
import math
import platform
import random
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from zerofleet import nets
from zerofleet._core import CHANCE, OVER
from zerofleet.errors import TooLarge
from zerofleet.games import Game
from zerofleet.infer.devices import device_text, pick_device
from zerofleet.infer.evaluator import EvaluatorKind, Observations, Pipeline
from zerofleet.infer.make import make_evaluator, make_pipeline
from zerofleet.storage import cache_folder, key_of, put_in_cache

GPU_SIZES = (256, 512, 1024, 2048, 4096, 8192)
CPU_SIZES = (16, 32, 64, 128, 256, 512)
WORTH_DOUBLING = 1.1
"""The least gain in throughput for which a size doubles."""
WARM_UP_S, MEASURED_S = 0.15, 0.35
"""Per size."""
NUM_SLOTS = 4
"""More than a pipeline has streams."""
NUM_POSITIONS = 256


@dataclass(frozen=True)
class Calibration:
    """Rows/s by batch size."""

    throughputs: dict[int, float]
    was_kept: bool
    """Whether it comes from the cache folder."""

    def size_for(self, wanted_per_s: float = math.inf) -> int:
        """The largest size that is worth its doublings from every smaller one. Throughput beyond
        `wanted_per_s` is worth nothing."""
        sizes = sorted(self.throughputs)
        useful = [min(self.throughputs[size], wanted_per_s) for size in sizes]
        return max(
            size
            for at, size in enumerate(sizes)
            if all(useful[at] >= WORTH_DOUBLING ** (at - n) * useful[n] for n in range(at))
        )

    def __str__(self) -> str:
        items = sorted(self.throughputs.items())
        texts = (f"{size:,}: {throughput_text(per_s)}" for size, per_s in items)
        return f"{'measured before; ' if self.was_kept else ''}{', '.join(texts)}"


def throughput_text(per_s: float) -> str:
    """410 k/s, 9.5 k/s."""
    return f"{per_s / 1000:,.{0 if per_s >= 1e4 else 1}f} k/s"


def calibrate(
    game: Game,
    network: nets.Network,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
) -> Calibration:
    """The throughputs of a network on a device: from the cache folder, or measured in seconds.

    On CUDA nothing is compiled for it: throughputs are lower than in a run, but scale alike.
    """
    picked = pick_device(device)
    sizes = GPU_SIZES if picked.type == "cuda" else CPU_SIZES
    path = cache_folder() / "batch-sizes" / f"{key_for(network.spec, kind, picked)}.json"
    try:
        return Calibration(read_throughputs(path, sizes), was_kept=True)
    except (OSError, TypeError, ValueError):  # not there yet, or damaged
        throughputs = measure(network, kind, device, sizes, some_observations(game))
        with suppress(OSError):  # without a writable cache every start measures
            put_in_cache(path, json.dumps(throughputs).encode())
        return Calibration(throughputs, was_kept=False)


def measure(
    network: nets.Network,
    kind: EvaluatorKind,
    device: str,
    sizes: tuple[int, ...],
    observations_BN: Observations,
) -> dict[int, float]:
    """The throughput of each size that fits in the device's memory."""
    evaluator = make_evaluator(network, kind, device, compiles=False)
    throughputs: dict[int, float] = {}
    # The largest first: an idle GPU then reaches its full clock before the small ones.
    for size in sorted(sizes, reverse=True):
        batch_BN = np.resize(observations_BN, (size, observations_BN.shape[1]))
        try:
            pipeline = make_pipeline(evaluator, NUM_SLOTS, size)
            throughputs[size] = throughput_of(pipeline, batch_BN, MEASURED_S)
        except TooLarge:
            if size == min(sizes):
                raise
    return throughputs


def throughput_of(pipeline: Pipeline, batch_BN: Observations, measured_s: float) -> float:
    """Rows/s of one batch repeated, with the pipeline kept full.

    It needs at least NUM_SLOTS slots.
    """
    slots = itertools.cycle(range(NUM_SLOTS))
    while pipeline.has_room:
        pipeline.submit(next(slots), batch_BN)
    per_s = 0.0
    for seconds in (WARM_UP_S, measured_s):
        num_rows, start_s = 0, time.perf_counter()
        while (elapsed_s := time.perf_counter() - start_s) < seconds:
            num_rows += len(pipeline.collect().outcomes_BO)
            pipeline.submit(next(slots), batch_BN)
        per_s = num_rows / elapsed_s
    while pipeline.num_in_flight:
        pipeline.collect()
    return per_s


def some_observations(game: Game) -> Observations:
    """Observations of random games, [NUM_POSITIONS, N]."""
    return np.stack(list(itertools.islice(seen_in_random_games(game), NUM_POSITIONS)))


def seen_in_random_games(game: Game) -> Iterator[NDArray[np.uint8]]:
    """What the player to move sees, game after game."""
    drawn = random.Random(1)
    for seed in itertools.count():
        position = game.new_position(seed)
        while position.to_move != OVER:
            if position.to_move == CHANCE:
                position.play(drawn.choice(position.chance_outcomes())[0])
            else:
                yield position.observe(position.to_move)
                position.play(drawn.choice(position.legal_actions()))


def key_for(spec: nets.NetworkSpec, kind: str, device: torch.device) -> str:
    """Changes with the device, the network, torch, and the code of nets and infer."""
    name = device_text(device) if device.type == "cuda" else f"{device.type} of {platform.node()}"
    texts = [name, kind, json.dumps(spec.to_dict(), sort_keys=True), torch.__version__]
    return key_of(texts, Path(nets.__file__).parent, Path(__file__).parent)


def read_throughputs(path: Path, sizes: tuple[int, ...]) -> dict[int, float]:
    """ValueError unless the file has throughputs of some of these sizes."""
    kept = json.loads(path.read_bytes())
    if not isinstance(kept, dict) or not kept:
        raise ValueError(f"{path} has no throughputs")
    throughputs = {int(size): float(per_s) for size, per_s in kept.items()}
    if not (set(throughputs) <= set(sizes) and all(each > 0 for each in throughputs.values())):
        raise ValueError(f"{path} has throughputs of other sizes")
    return throughputs
