"""How many rows a batch should have on a device, found by trying sizes.

A larger batch is answered at a higher rate, up to a point; beyond it games only take longer: twice
as many at once, and each takes twice as long. So a size is doubled as long as that gains a good
deal, and not beyond what search asks for. What was measured is kept in the cache folder, so that a
later start with the same network and device need not measure.

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
from zerofleet.infer.device import device_text, pick_device
from zerofleet.infer.evaluator import EvaluatorKind, Observations
from zerofleet.infer.make import make_evaluator, make_pipeline
from zerofleet.infer.pipeline import Pipeline
from zerofleet.storage import cache_folder, key_of, put_in_cache

GPU_SIZES = (256, 512, 1024, 2048, 4096, 8192)
CPU_SIZES = (16, 32, 64, 128, 256, 512)
WORTH_DOUBLING = 1.1
"""What twice the size must gain: so many times the rate."""
WARM_UP_S, MEASURED_S = 0.15, 0.35
"""For each size."""
NUM_SLOTS = 4
"""More than a pipeline has streams."""
NUM_POSITIONS = 256


@dataclass(frozen=True)
class Calibration:
    """Rows answered per second, by the size of the batches."""

    rates: dict[int, float]
    was_kept: bool
    """Whether an earlier start measured it."""

    def size_for(self, wanted_per_s: float = math.inf) -> int:
        """The largest that pays for its doublings beside every smaller one, in the rate that
        anybody wants."""
        sizes = sorted(self.rates)
        useful = [min(self.rates[size], wanted_per_s) for size in sizes]
        return max(
            size
            for at, size in enumerate(sizes)
            if all(useful[at] >= WORTH_DOUBLING ** (at - n) * useful[n] for n in range(at))
        )

    def __str__(self) -> str:
        rates = (f"{size:,}: {rate_text(rate)}" for size, rate in sorted(self.rates.items()))
        return f"{'measured before; ' if self.was_kept else ''}{', '.join(rates)}"


def rate_text(per_s: float) -> str:
    """410 k/s, 9.5 k/s."""
    return f"{per_s / 1000:,.{0 if per_s >= 1e4 else 1}f} k/s"


def calibrate(
    game: Game,
    network: nets.Network,
    kind: EvaluatorKind = "auto",
    device: str = "auto",
) -> Calibration:
    """What was measured before with such a network on such a device, or is now, in seconds.

    On a CUDA GPU nothing is compiled for it: rates are lower than in a run, and grow with the size
    alike.
    """
    picked = pick_device(device)
    sizes = GPU_SIZES if picked.type == "cuda" else CPU_SIZES
    path = cache_folder() / "batch-sizes" / f"{key_for(network.spec, kind, picked)}.json"
    try:
        return Calibration(read_rates(path, sizes), was_kept=True)
    except (OSError, TypeError, ValueError):  # not there yet, or damaged
        rates = measured(network, kind, device, sizes, some_observations(game))
        with suppress(OSError):  # where nothing can be kept, it is measured each time
            put_in_cache(path, json.dumps(rates).encode())
        return Calibration(rates, was_kept=False)


def measured(
    network: nets.Network,
    kind: EvaluatorKind,
    device: str,
    sizes: tuple[int, ...],
    observations_BN: Observations,
) -> dict[int, float]:
    """The rate of each size that the device has the memory for."""
    evaluator = make_evaluator(network, kind, device, compiles=False)
    rates: dict[int, float] = {}
    # The largest first: a GPU that was idle has its full clock by the time of the small ones.
    for size in sorted(sizes, reverse=True):
        batch_BN = np.resize(observations_BN, (size, observations_BN.shape[1]))
        try:
            pipeline = make_pipeline(evaluator, NUM_SLOTS, size)
            rates[size] = rate_of(pipeline, batch_BN, MEASURED_S)
        except TooLarge:
            if size == min(sizes):
                raise
    return rates


def rate_of(pipeline: Pipeline, batch_BN: Observations, measured_s: float) -> float:
    """Rows per second for one batch again and again, with the pipeline kept full.

    It needs at least NUM_SLOTS slots.
    """
    slots = itertools.cycle(range(NUM_SLOTS))
    while pipeline.has_room:
        pipeline.submit(next(slots), batch_BN)
    rate = 0.0
    for seconds in (WARM_UP_S, measured_s):
        num_rows, start_s = 0, time.perf_counter()
        while (elapsed_s := time.perf_counter() - start_s) < seconds:
            num_rows += len(pipeline.collect().outcomes_BO)
            pipeline.submit(next(slots), batch_BN)
        rate = num_rows / elapsed_s
    while pipeline.num_in_flight:
        pipeline.collect()
    return rate


def some_observations(game: Game) -> Observations:
    """Real ones, of random games."""
    return np.stack(list(itertools.islice(seen_in_random_games(game), NUM_POSITIONS)))


def seen_in_random_games(game: Game) -> Iterator[NDArray[np.uint8]]:
    """What each player to move sees, game after game."""
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
    """Changes with the device, the network, torch, and how networks are written and answered."""
    name = device_text(device) if device.type == "cuda" else f"{device.type} of {platform.node()}"
    texts = [name, kind, json.dumps(spec.to_dict(), sort_keys=True), torch.__version__]
    return key_of(texts, Path(nets.__file__).parent, Path(__file__).parent)


def read_rates(path: Path, sizes: tuple[int, ...]) -> dict[int, float]:
    """ValueError where they are not rates of some of these sizes."""
    found = json.loads(path.read_bytes())
    if not isinstance(found, dict) or not found:
        raise ValueError(f"{path} has no rates")
    rates = {int(size): float(rate) for size, rate in found.items()}
    if not (set(rates) <= set(sizes) and all(rate > 0 for rate in rates.values())):
        raise ValueError(f"{path} has rates of other sizes")
    return rates
