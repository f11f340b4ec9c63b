"""Self-play alone, as in a run but without a trainer.

The network is untrained, every randomisation is on, and the cache has the size of the preset h200.
All games start together and take minutes, so groups are first advanced without a network to evenly
spread stages; the measurement then covers all stages.

games/s are derived from simulations/s (whole_games.py); `finished_games_per_s` counts the games
that ended during the measurement, which are fewer at first. `caution` reports games that did not
reach their stage in time or made less than one decision each: then some stages weigh too much, and
the measurement should be longer.
"""

import functools
import threading
import time

import numpy as np
import torch
from gpu.inference import batch_of, batch_size, evaluator_of, network_of
from gpu.whole_games import SEARCH_THREADS, size_of_a_game

import zerofleet as zf
from zerofleet import _core, config
from zerofleet.bus import MemoryBus, Sender
from zerofleet.infer.calibration import throughput_of
from zerofleet.infer.devices import open_gauges
from zerofleet.selfplay.outbox import DirectOutbox
from zerofleet.selfplay.worker import WeightsFeed, Worker

RANDOM = {
    "dirichlet_epsilon": 0.25,
    "forced_playouts": 0,
    "temperature_drop_move": 6,
    "final_temperature": 0.2,
}
PUCT_200 = {"num_simulations": 200, **RANDOM}
GUMBEL_32 = {"num_simulations": 32, "root": "gumbel"}

WARM_UP_S = 2.0
SPREAD_S = 120.0
"""Time limit to spread the groups over stages. Beasty Bar takes about 20 s; Gomoku reaches 90 %."""
UNIFORM_VERSION = 2**32
"""Weights version of the uniform evaluations. No weights have it, so later lookups miss."""
NUM_GROUPS = SEARCH_THREADS + 5
"""One per thread, those on the GPU, and some in reserve, so that neither side waits."""


class GpuWatch:
    """Samples the GPU's gauges every second, within a `with`."""

    def __init__(self):
        self._figures = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *exception):
        self._stop.set()
        self._thread.join()

    def _watch(self):
        gauges = open_gauges(["cuda"] if torch.cuda.is_available() else [], print)
        while gauges and not self._stop.wait(1):
            self._figures += [figures for gauge in gauges if (figures := gauge.read())]

    def means(self):
        """Mean of each gauge; empty if the driver reports none."""
        columns = {
            "driver_busy_share": [each.busy_share for each in self._figures],
            "watts": [each.watts for each in self._figures],
            "gpu_memory_mib": [each.used_bytes / 2**20 for each in self._figures],
        }
        return {name: sum(column) / len(column) for name, column in columns.items() if column}


def spread(driver, game, num_groups, num_games, leaves_per_game):
    """Advances group g of G to g / G of a game with uniform evaluations. Returns the fraction
    reached within the time limit."""
    logits = np.zeros((num_games, game.num_actions), np.float32)
    outcomes = np.full((num_games, len(game.outcomes)), 1 / len(game.outcomes), np.float32)
    way = [leaves_per_game * num_games * group / num_groups for group in range(num_groups)]
    left, there = list(way), {}
    end_s = time.monotonic() + SPREAD_S
    while len(there) < num_groups:
        batch = driver.next_batch(1.0)
        if batch is None:
            continue
        group, num_rows = batch[0], len(batch[1])
        left[group] -= num_rows
        if left[group] > 0 and time.monotonic() < end_s:
            driver.submit(group, logits[:num_rows], outcomes[:num_rows], UNIFORM_VERSION)
        else:
            there[group] = num_rows
    for group, num_rows in there.items():
        driver.submit(group, logits[:num_rows], outcomes[:num_rows], UNIFORM_VERSION)
    return 1 - sum(max(0, each) for each in left) / sum(way)


def measure(game_name, preset, settings, seconds):
    game, size = zf.games.get(game_name), batch_size(game_name, preset)
    settings = settings | {"cache_bytes": config.load(game_name, "h200").selfplay.cache_bytes}
    pipeline = evaluator_of(network_of(game_name, preset)).pipeline(NUM_GROUPS, size)
    bare = throughput_of(pipeline, batch_of(game_name, size), min(2.0, seconds))
    found = measure_games(game, settings, pipeline, size, seconds)
    return found | {
        "bare_inferences_per_s": bare,
        "over_bare": found["inferences_per_s"] / bare,
        "batch": size,
        "groups": NUM_GROUPS,
        "search_threads": SEARCH_THREADS,
    }


def measure_games(game, settings, pipeline, size, seconds):
    whole = size_of_a_game(game, settings)
    driver = _core.SelfPlay(game, settings, NUM_GROUPS, size, SEARCH_THREADS, None, 1, 0)
    spread_share = spread(driver, game, NUM_GROUPS, size, whole.leaves)
    bus = MemoryBus()
    faults = []

    def is_stopping():
        return bus.stopping

    feed = WeightsFeed(bus, pipeline.version, is_stopping, faults.append)
    outbox = DirectOutbox(bus, Sender("bench", 0))
    worker = Worker(driver, pipeline, outbox, feed, is_stopping, faults.append)
    worker.start()
    time.sleep(WARM_UP_S)
    bus.receive_episodes()
    with GpuWatch() as gpu:
        before, start = snapshot(worker), time.perf_counter()
        time.sleep(seconds)
        after, elapsed_s = snapshot(worker), time.perf_counter() - start
    num_finished = len(bus.receive_episodes())
    bus.stop()
    worker.join()
    for fault in faults:
        raise fault
    did = {name: (after[name] - before[name]) / elapsed_s for name in after}
    simulations_of_each_game = did["simulations"] * elapsed_s / (NUM_GROUPS * size)
    return {
        "games_per_s": did["simulations"] / whole.simulations,
        "finished_games_per_s": num_finished / elapsed_s,
        "inferences_per_s": did["rows"],
        "gpu_busy_share": did["busy_s"],
        "batch_fill": did["rows"] / did["computed"],
        "waiting_for_search_share": did["search_s"],
        "queued_per_batch_ms": 1000 * did["queued_s"] / did["batches"],
        "simulations_per_s": did["simulations"],
        "inferences_per_simulation": did["rows"] / did["simulations"],
        "decisions_per_game": whole.decisions,
        "simulations_per_game": whole.simulations,
        **whole.stages(spread_share, simulations_of_each_game),
        **gpu.means(),
    }


def snapshot(worker):
    games, batches = worker.counts(), worker.pipeline.counts
    return {
        "simulations": games.num_simulations,
        "batches": batches.num_batches,
        "rows": batches.num_rows,
        "computed": batches.num_computed,
        "busy_s": batches.busy_s,
        "queued_s": batches.queued_s,
        "search_s": worker.times.waiting_for_search_s,
    }


CASES = {
    "selfplay beastybar large puct-200": ("beastybar", "large", PUCT_200),
    "selfplay beastybar large gumbel-32": ("beastybar", "large", GUMBEL_32),
    "selfplay beastybar cards-medium puct-200": ("beastybar", "cards-medium", PUCT_200),
    "selfplay beastybar cards-small puct-200": ("beastybar", "cards-small", PUCT_200),
    "selfplay beastybar places-large puct-200": ("beastybar", "places-large", PUCT_200),
    "selfplay beastybar places-medium puct-200": ("beastybar", "places-medium", PUCT_200),
    "selfplay gomoku medium puct-400": ("gomoku", "medium", PUCT_200 | {"num_simulations": 400}),
    "selfplay backgammon large puct-100": (
        "backgammon",
        "large",
        PUCT_200 | {"num_simulations": 100},
    ),
}
MEASUREMENTS = {name: functools.partial(measure, *case) for name, case in CASES.items()}
