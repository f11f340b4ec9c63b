"""What each technique of self-play on a GPU is worth: throughput with all of them, over that
without one.

The game, search and network are those of the preset published_run. One set of games, first spread
over all stages, is played throughout; only the evaluator changes between legs, so that all legs
search the same kind of positions with a warm cache. The leg without the cache has games of its own.

`worth` is the throughput of inference (inferences/s) with a technique over that without it; of the
cache, which saves inferences, that of search (simulations/s) in the last two legs. Simulations/s of
legs far apart do not compare: how often the cache hits depends on the stages of the games.
Compilation is off too in the legs of TF32, which is what float32 has instead of bfloat16, and of
`joint_seats`: there each batch is evaluated as two of half the size, as with a batch per seat.
`overlap` is off where search stands still during inference. Beside it stand the guesses of a
published plan for one H100.

The other measurement tries cudnn.benchmark for a network of convolutions: bare inference with it
over that without it.
"""

import functools
import statistics
import time
from collections import deque
from contextlib import contextmanager

import numpy as np
import torch
from gpu import inference
from gpu.selfplay import spread
from gpu.whole_games import SEARCH_THREADS, size_of_a_game

import zerofleet as zf
from zerofleet import _core, config
from zerofleet.infer import CudaEvaluator
from zerofleet.infer.calibration import NUM_SLOTS, throughput_of
from zerofleet.infer.cuda_evaluator import NUM_STREAMS
from zerofleet.infer.evaluator import Answered
from zerofleet.selfplay.play import PATIENCE_S

GAME, PRESET = "beastybar", "published_run"
PLAN_GUESSES = {
    "tf32": "7",
    "cuda_graphs": "1.3-1.4",
    "pinned_memory": "1.15-1.25",
    "joint_seats": "2",
}
"""Factors that a published plan of 2025 hopes for on one H100."""
WARM_UP_S = 1.0
NUM_TURNS = 3
"""Of cudnn.benchmark off and on."""


class HalfBatches:
    """A pipeline that evaluates each batch as two of half the size."""

    def __init__(self, halves):
        """`halves` has two slots and two streams per batch."""
        self._halves = halves
        self._slots = deque()

    @property
    def counts(self):
        return self._halves.counts

    @property
    def num_in_flight(self):
        return len(self._slots)

    @property
    def has_room(self):
        return len(self._slots) < NUM_STREAMS

    def submit(self, slot, observations_BN):
        middle = (len(observations_BN) + 1) // 2
        self._halves.submit(2 * slot, observations_BN[:middle])
        self._halves.submit(2 * slot + 1, observations_BN[middle:])
        self._slots.append(slot)

    def collect(self):
        first, second = self._halves.collect(), self._halves.collect()
        return Answered(
            self._slots.popleft(),
            np.concatenate([first.policy_logits_BA, second.policy_logits_BA]),
            np.concatenate([first.outcomes_BO, second.outcomes_BO]),
            first.version,
        )


# ---- playing


def hand_back(driver, pipeline):
    driver.submit(*pipeline.collect())


def play_overlapped(driver, pipeline, num_groups, seconds):
    """As a worker does: search and inference run at the same time."""
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        batch = driver.next_batch(0.0 if pipeline.num_in_flight else PATIENCE_S)
        if batch is not None:
            pipeline.submit(*batch)
        if pipeline.num_in_flight and (batch is None or not pipeline.has_room):
            hand_back(driver, pipeline)
    while pipeline.num_in_flight:
        hand_back(driver, pipeline)


def play_in_turns(driver, pipeline, num_groups, seconds):
    """All groups search, then all are evaluated."""
    end_s = time.perf_counter() + seconds
    while time.perf_counter() < end_s:
        batches, answers = [], []
        while len(batches) < num_groups:
            if (batch := driver.next_batch(PATIENCE_S)) is not None:
                batches.append(batch)
        for batch in batches:
            if not pipeline.has_room:
                answers.append(pipeline.collect())
            pipeline.submit(*batch)
        while pipeline.num_in_flight:
            answers.append(pipeline.collect())
        for answer in answers:
            driver.submit(*answer)


def leg(driver, pipeline, num_groups, seconds, play=play_overlapped):
    """Simulations/s and inferences/s of search with this pipeline."""
    play(driver, pipeline, num_groups, WARM_UP_S)
    simulations, rows = driver.counts().num_simulations, pipeline.counts.num_rows
    busy_s, start_s = pipeline.counts.busy_s, time.perf_counter()
    play(driver, pipeline, num_groups, seconds)
    elapsed_s = time.perf_counter() - start_s
    return {
        "simulations_per_s": (driver.counts().num_simulations - simulations) / elapsed_s,
        "inferences_per_s": (pipeline.counts.num_rows - rows) / elapsed_s,
        "gpu_busy_share": (pipeline.counts.busy_s - busy_s) / elapsed_s,
    }


def spread_games(game, settings, num_groups, num_games, leaves):
    driver = _core.SelfPlay(game, settings, num_groups, num_games, SEARCH_THREADS, None, 1, 0)
    spread(driver, game, num_groups, num_games, leaves)
    return driver


@contextmanager
def without_tf32():
    """Of what is captured here."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def measure(seconds):
    run = config.load(GAME, PRESET)
    game, settings = zf.games.get(GAME), run.for_core()
    num_groups, num_games = run.selfplay.num_groups, run.selfplay.games_per_group
    network = inference.network_of(GAME, run.network.preset)
    whole = size_of_a_game(game, settings)
    games = functools.partial(spread_games, game, num_groups=num_groups, num_games=num_games)
    driver = games(settings, leaves=whole.leaves)

    def evaluator(**options):
        options = {"compiles": inference.compiles} | options
        return CudaEvaluator(network, torch.device("cuda"), **options)

    def measured(pipeline, played=driver, play=play_overlapped):
        return leg(played, pipeline, num_groups, seconds, play)

    fast, plain = evaluator(), evaluator(compiles=False)
    single = evaluator(compiles=False, dtype=torch.float32)
    full = fast.pipeline(num_groups, num_games)
    legs = {"all": measured(full)}
    legs["without overlap"] = measured(full, play=play_in_turns)
    legs["without pinned_memory"] = measured(fast.pipeline(num_groups, num_games, pins=False))
    legs["without cuda_graphs"] = measured(fast.pipeline(num_groups, num_games, captures=False))
    legs["without compilation"] = measured(plain.pipeline(num_groups, num_games))
    legs["without compilation, cuda_graphs"] = measured(
        plain.pipeline(num_groups, num_games, captures=False)
    )
    halves = plain.pipeline(2 * num_groups, (num_games + 1) // 2, 2 * NUM_STREAMS)
    legs["without compilation, joint_seats"] = measured(HalfBatches(halves))
    legs["tf32, without compilation"] = measured(single.pipeline(num_groups, num_games))
    with without_tf32():
        exact = single.pipeline(num_groups, num_games)
    legs["float32, without compilation"] = measured(exact)
    legs["all again"] = measured(full)
    driver.stop()
    uncached = games(settings | {"cache_bytes": 0}, leaves=whole.leaves)
    legs["without cache"] = measured(full, uncached)
    uncached.stop()
    return figures_of(legs, whole)


def figures_of(legs, whole):
    for each in legs.values():
        each["games_per_s"] = each["simulations_per_s"] / whole.simulations
    worths = worths_of(legs)
    for name, value in worths.items():
        guess = PLAN_GUESSES.get(name)
        print(f"  {name:40} {value:5.2f}" + (f"  (plan {guess})" if guess else ""), flush=True)
    for name, each in legs.items():
        print(f"  {name:40} {each['games_per_s']:7.1f} games/s", flush=True)
    return {
        **{f"worth of {name}": value for name, value in worths.items()},
        "drift": legs["all again"]["inferences_per_s"] / legs["all"]["inferences_per_s"],
        "plan_guesses": PLAN_GUESSES,
        "legs": legs,
    }


def worths_of(legs):
    def worth(better, worse, unit="inferences_per_s"):
        return legs[better][unit] / legs[worse][unit]

    def worth_in_plain(name):
        return worth("without compilation", f"without compilation, {name}")

    switched = ("compilation", "cuda_graphs", "pinned_memory", "overlap")
    return {name: worth("all", f"without {name}") for name in switched} | {
        "cache": worth("all again", "without cache", "simulations_per_s"),
        "joint_seats": worth_in_plain("joint_seats"),
        "cuda_graphs where nothing is compiled": worth_in_plain("cuda_graphs"),
        "bfloat16 where nothing is compiled": worth(
            "without compilation", "tf32, without compilation"
        ),
        "tf32": worth("tf32, without compilation", "float32, without compilation"),
    }


# ---- boards


@contextmanager
def cudnn_benchmark(on):
    before = torch.backends.cudnn.benchmark
    torch.backends.cudnn.benchmark = on
    try:
        yield
    finally:
        torch.backends.cudnn.benchmark = before


def measure_cudnn(game_name, preset, size, seconds):
    network, batch = inference.network_of(game_name, preset), inference.batch_of(game_name, size)
    found = {}
    for compiles in {False, inference.compiles}:
        evaluator = CudaEvaluator(network, torch.device("cuda"), compiles=compiles)
        pipelines = {}
        for on in (False, True):
            with cudnn_benchmark(on):
                pipelines[on] = evaluator.pipeline(NUM_SLOTS, size)
        turns = [
            {on: throughput_of(each, batch, seconds / 6) for on, each in pipelines.items()}
            for _ in range(NUM_TURNS)
        ]
        off, on = (statistics.median(turn[on] for turn in turns) for on in (False, True))
        kind = "compiled" if compiles else "plain"
        found |= {
            f"{kind}_inferences_per_s": off,
            f"{kind}_benchmark_inferences_per_s": on,
            f"{kind}_worth": on / off,
        }
    return found


MEASUREMENTS = {
    "ablation beastybar pooled-large puct-200": measure,
    "ablation cudnn.benchmark gomoku medium 1024": functools.partial(
        measure_cudnn, "gomoku", "medium", 1024
    ),
}
