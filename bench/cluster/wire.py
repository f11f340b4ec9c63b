"""What one inference server takes over loopback, and what it adds to the latency of a batch.

A server and its workers are processes; requests hold leaves of real games with the logits that
their searches read. `throughput` measures a network that costs nothing, so what is left is the
wire: sockets, copies, half precision and the server's loop. `added_latency` measures a real network
at a share of its throughput, with requests that arrive at random times.
"""

import multiprocessing
import random
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import zerofleet as zf
from zerofleet import _core, nets
from zerofleet.infer.evaluator import lockstep
from zerofleet.infer.make import make_evaluator, make_pipeline
from zerofleet.infer.remote import RemoteEvaluator, ServerAddress
from zerofleet.infer.server import NUM_SLOTS, Batching, InferenceServer
from zerofleet.infer.sockets import ServerSocket, make_key_files, read_key
from zerofleet.infer.wire import WireGame

SPAWNED = multiprocessing.get_context("spawn")
STREAMS = 4
"""Requests of one worker in flight."""
WARM_UP_S = 1.0
PATIENCE_S = 120.0
MAX_WAIT_S = 0.002


class FreeNetwork:
    """Answers every batch with the same numbers, which are there before it is asked."""

    version = 1

    def __init__(self, game, max_rows):
        self._logits_BA = np.zeros((max_rows, game.num_actions), np.float32)
        outcomes = len(game.outcomes)
        self._outcomes_BO = np.full((max_rows, outcomes), 1 / outcomes, np.float32)

    def __call__(self, observations_BN):
        num_rows = len(observations_BN)
        return self._logits_BA[:num_rows], self._outcomes_BO[:num_rows]

    def load(self, state, version):
        raise NotImplementedError


def leaves_of(game, num_rows):
    """Observations and masks of leaves, after a while of uniform self-play."""
    driver = _core.SelfPlay(game, {"num_simulations": 32}, 1, num_rows, 0, None, 1, 0)
    free = FreeNetwork(game, num_rows)
    for _ in range(200):
        if (batch := driver.next_batch(0)) is not None:
            group, observations_BN = batch
            found = observations_BN.copy(), driver.action_masks(group)
            driver.submit(group, *free(observations_BN), 1)
    rows = np.arange(num_rows) % len(found[0])
    return found[0][rows], found[1][rows]


# ---- processes


def pipeline_of(game, max_rows, preset, device):
    """Without a preset a network that costs nothing."""
    if preset is None:
        return lockstep(FreeNetwork(game, max_rows))
    network = nets.build(game, preset)
    evaluator = make_evaluator(network, device=device, version=1)
    return make_pipeline(evaluator, NUM_SLOTS, max_rows)


def run_server(name, max_rows, preset, device, key_file, ready, ended):
    game = zf.games.get(name)
    wire = WireGame.of(game, "bench")
    key = read_key({"ZEROFLEET_CURVE_KEY_FILE": key_file})
    socket = ServerSocket("127.0.0.1", 0, key, wire.request_bytes(max_rows))
    pipeline = pipeline_of(game, max_rows, preset, device)
    if preset is None:
        batching = Batching(max_rows, MAX_WAIT_S, merged_rows=max_rows)
    else:
        batching = Batching.on(device, max_rows, MAX_WAIT_S)
    server = InferenceServer(
        socket.socket, wire, pipeline, batching, lambda pipeline: None, lambda: ""
    )
    ready.put(ServerAddress("bench", f"tcp://127.0.0.1:{socket.port}", key.public if key else ""))
    server.serve(ended.is_set, drain_s=0)
    socket.close()


@contextmanager
def serving(name, max_rows, preset=None, device="cpu", key_file=""):
    """The address of a server in a process of its own."""
    ready, ended = SPAWNED.Queue(), SPAWNED.Event()
    arguments = (name, max_rows, preset, device, key_file, ready, ended)
    process = SPAWNED.Process(target=run_server, args=arguments, daemon=True)
    process.start()
    try:
        yield ready.get(timeout=PATIENCE_S)
    finally:
        ended.set()
        process.join()


def asker(name, at, num_rows, num_streams, key_file):
    game = zf.games.get(name)
    observations_BN, masks_BM = leaves_of(game, num_rows)
    remote = RemoteEvaluator(
        WireGame.of(game, "bench"),
        lambda: [at],
        lambda version: "",
        PATIENCE_S,
        read_key({"ZEROFLEET_CURVE_KEY_FILE": key_file}),
        print,
    )
    return remote, remote.pipeline(num_streams, lambda slot: masks_BM), observations_BN


def ask_always(name, at, num_rows, seconds, key_file, counted):
    """A worker that always has STREAMS requests in flight."""
    remote, pipeline, observations_BN = asker(name, at, num_rows, STREAMS, key_file)
    per_s = 0.0
    for span_s in (WARM_UP_S, seconds):
        num_requests, start_s = 0, time.monotonic()
        while time.monotonic() - start_s < span_s:
            if not pipeline.has_room:
                pipeline.collect()
                num_requests += 1
            pipeline.submit(0, observations_BN)
        per_s = num_requests / (time.monotonic() - start_s)
    while pipeline.num_in_flight:
        pipeline.collect()
    remote.close()
    counted.put(per_s)


# ---- what is measured


def throughput(name, num_workers, num_rows, seconds, encrypted, preset=None, device="cpu"):
    """Requests/s and rows/s of one server."""
    with ExitStack() as stack:
        servers_key, workers_key = stack.enter_context(key_files()) if encrypted else ("", "")
        max_rows = max(4096, num_rows)
        at = stack.enter_context(serving(name, max_rows, preset, device, servers_key))
        counted = SPAWNED.Queue()
        arguments = (name, at, num_rows, seconds, workers_key, counted)
        workers = [SPAWNED.Process(target=ask_always, args=arguments) for _ in range(num_workers)]
        for worker in workers:
            worker.start()
        per_s = sum(counted.get(timeout=PATIENCE_S + seconds) for _ in workers)
        for worker in workers:
            worker.join()
    return {
        "game": name,
        "network": preset or "free",
        "workers": num_workers,
        "rows_per_request": num_rows,
        "encrypted": encrypted,
        "requests_per_s": per_s,
        "rows_per_s": per_s * num_rows,
    }


def added_latency(name, preset, num_rows, seconds, share, device="cpu"):
    """Round trips of requests at random times, at a share of what the server can take, beside the
    time of the bare evaluation."""
    game = zf.games.get(name)
    observations_BN, _ = leaves_of(game, num_rows)
    bare = pipeline_of(game, num_rows, preset, device)
    bare_s = np.array([timed(bare, observations_BN) for _ in range(50)])[10:]
    capacity = throughput(name, 1, num_rows, seconds, False, preset, device)["requests_per_s"]
    with serving(name, max(4096, num_rows), preset, device) as at:
        remote, pipeline, observations_BN = asker(name, at, num_rows, 256, "")
        trips_s = open_loop(pipeline, observations_BN, share * capacity, seconds)
        remote.close()
    at_percentiles = np.percentile(trips_s, (50, 95, 99))
    return {
        "game": name,
        "network": preset,
        "rows_per_request": num_rows,
        "capacity_requests_per_s": capacity,
        "share": share,
        "requests": len(trips_s),
        "bare_p50_s": float(np.median(bare_s)),
        **dict(zip(("p50_s", "p95_s", "p99_s"), map(float, at_percentiles), strict=True)),
        "added_p99_s": float(at_percentiles[2] - np.median(bare_s)),
    }


def timed(pipeline, observations_BN):
    start_s = time.perf_counter()
    pipeline.submit(0, observations_BN)
    pipeline.collect()
    return time.perf_counter() - start_s


def open_loop(pipeline, observations_BN, per_s, seconds):
    """Seconds from the time at which each request is due to its answer, in order."""
    due_s, end_s = time.monotonic(), time.monotonic() + seconds
    in_flight, trips_s = [], []
    while due_s < end_s or pipeline.num_in_flight:
        now_s = time.monotonic()
        if due_s < end_s and now_s >= due_s and pipeline.has_room:
            pipeline.submit(0, observations_BN)
            in_flight.append(due_s)
            due_s += random.expovariate(per_s)
        elif pipeline.num_in_flight:
            if pipeline.wait(max(0.0, due_s - now_s) if due_s < end_s else 0.1):
                pipeline.collect()
                trips_s.append(time.monotonic() - in_flight.pop(0))
        else:
            time.sleep(max(0.0, min(due_s, end_s) - now_s))
    return trips_s


@contextmanager
def key_files():
    with TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("servers", "workers")]
        for path, text in zip(paths, make_key_files(), strict=True):
            path.write_text(text)
        yield tuple(map(str, paths))
