"""Rows/s of one inference server that is fed by workers which play, over bare inference.

The server is a process with the run's network; first it measures bare inference: its own pipeline,
kept full with one batch from memory. Then a worker per other core plays games by the run's settings
and asks it, as in a fleet, over loopback. Rows count where they are computed, in the server.
"""

import threading
import time
from contextlib import ExitStack

from wire import PATIENCE_S, SPAWNED, leaves_of, pipeline_of

import zerofleet as zf
from zerofleet import _core, config
from zerofleet.bus import MemoryBus, Sender
from zerofleet.fleet.worker_evaluation import REMOTE_GROUPS
from zerofleet.infer.calibration import throughput_of
from zerofleet.infer.remote import RemoteEvaluator, ServerAddress
from zerofleet.infer.server import Batching, InferenceServer
from zerofleet.infer.sockets import ServerSocket
from zerofleet.infer.wire import WireGame
from zerofleet.selfplay.outbox import DirectOutbox
from zerofleet.selfplay.worker import WeightsFeed, Worker

BARE_S = 3.0
SETTLED_S = 4.0
"""From the first request on; then rows are counted."""
POLL_S = 0.02
MAX_WAIT_S = 0.002
CACHE_BYTES = 64 << 20
"""Of each worker."""


def snapshot(server):
    counts, batches = server.counts, server.pipeline.counts
    return {
        "requests": counts.num_requests,
        "refused": counts.num_refused,
        "batches": batches.num_batches,
        "rows": batches.num_rows,
        "computed": batches.num_computed,
        "gpu_busy_s": batches.busy_s,
        "cpu_s": time.process_time(),
    }


def watch(server, seconds, reported):
    """Reports what the server does per second, once it is fed."""
    while not server.counts.num_requests:
        time.sleep(POLL_S)
    time.sleep(SETTLED_S)
    before, start_s = snapshot(server), time.perf_counter()
    time.sleep(seconds)
    after, elapsed_s = snapshot(server), time.perf_counter() - start_s
    per_s = {name: (after[name] - before[name]) / elapsed_s for name in after}
    reported.put(per_s | {"latency_s": server.counts.latencies.percentiles()})


def run_server(name, network, max_rows, device, seconds, ready, reported, ended):
    game = zf.games.get(name)
    wire = WireGame.of(game, "bench")
    socket = ServerSocket("127.0.0.1", 0, None, wire.request_bytes(max_rows))
    pipeline = pipeline_of(game, max_rows, network, device)
    bare_per_s = throughput_of(pipeline, leaves_of(game, max_rows)[0], BARE_S)
    batching = Batching.on(device, max_rows, MAX_WAIT_S)
    server = InferenceServer(
        socket.socket, wire, pipeline, batching, lambda pipeline: None, lambda: ""
    )
    threading.Thread(target=watch, args=(server, seconds, reported), daemon=True).start()
    ready.put((ServerAddress("bench", f"tcp://127.0.0.1:{socket.port}"), bare_per_s))
    server.serve(ended.is_set, drain_s=0)
    socket.close()


def run_worker(name, preset, number, num_games, at, ended):
    """Plays as a worker of a fleet that has one core and evaluates remotely."""
    game, bus = zf.games.get(name), MemoryBus()
    settings = config.load(name, preset).for_core() | {"cache_bytes": CACHE_BYTES}
    driver = _core.SelfPlay(game, settings, REMOTE_GROUPS, num_games, 0, None, 1, number)
    remote = RemoteEvaluator(
        WireGame.of(game, "bench"), lambda: [at], lambda version: "", PATIENCE_S, None, print
    )
    pipeline = remote.pipeline(REMOTE_GROUPS, driver.action_masks)
    faults = []

    def is_stopping():
        return ended.is_set() or bool(faults)

    feed = WeightsFeed(bus, 1, is_stopping, faults.append)
    outbox = DirectOutbox(bus, Sender(f"worker-{number}", number))
    worker = Worker(driver, pipeline, outbox, feed, is_stopping, faults.append)
    worker.start()
    while not is_stopping():
        bus.receive_episodes()
        ended.wait(1.0)
    worker.join()
    remote.close()
    for fault in faults:
        raise fault


def fed(name, preset, num_workers, num_games, max_rows, seconds, device):
    """One server of a run's network and `num_workers` that play, `num_games` a request."""
    network = config.load(name, preset).network.preset
    ready, reported, ended = SPAWNED.Queue(), SPAWNED.Queue(), SPAWNED.Event()
    with ExitStack() as stack:
        stack.callback(ended.set)
        arguments = (name, network, max_rows, device, seconds, ready, reported, ended)
        start(stack, run_server, arguments)
        at, bare_per_s = ready.get(timeout=PATIENCE_S)
        for number in range(num_workers):
            start(stack, run_worker, (name, preset, number, num_games, at, ended))
        per_s = reported.get(timeout=PATIENCE_S + seconds)
        ended.set()
    return {
        "preset": f"{name}/{preset}",
        "network": network,
        "device": device,
        "workers": num_workers,
        "rows_per_request": num_games,
        "max_batch_rows": max_rows,
        "over_bare": per_s["rows"] / bare_per_s,
        "rows_per_s": per_s["rows"],
        "bare_rows_per_s": bare_per_s,
        "requests_per_s": per_s["requests"],
        "refused_per_s": per_s["refused"],
        "batch_fill": per_s["rows"] / per_s["computed"],
        "gpu_busy_share": per_s["gpu_busy_s"],
        "server_cores": per_s["cpu_s"],
        "latency_s": per_s["latency_s"],
    }


def start(stack, target, arguments):
    process = SPAWNED.Process(target=target, args=arguments, daemon=True)
    process.start()
    stack.callback(process.join, 30)
