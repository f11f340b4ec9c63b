"""How soon new weights play: from their publication until 50 idle workers have loaded them.

    .venv/bin/python bench/fleet/weights.py [--workers 50] [--publications 20] [--no-record]

Weights of 6 MB go through a real Redis to workers that each have a bus, a feed and an evaluator of
their own, in a few processes of this machine. The clock runs from before the trainer serialises
them until the evaluator of a worker has them: all workers fetch, hash, check and load at the same
time, on as many cores as there are.
"""

import argparse
import multiprocessing
import statistics
import sys
import time
from contextlib import ExitStack, closing

from parts import RUN, Bench, record

import zerofleet as zf
from zerofleet import nets
from zerofleet.bus import Pace
from zerofleet.bus.redis import RedisBus
from zerofleet.config import FleetConfig
from zerofleet.infer import make_evaluator, make_pipeline
from zerofleet.selfplay.fleet_feed import FleetWeightsFeed
from zerofleet.training.loop import WeightsPublisher

GOAL_S = 1.0
GAME, NETWORK = "backgammon", "medium"
"""1.5 million parameters: 6 MB."""
NUM_PROCESSES = 4
LOOK_S = 0.005
START_TIMEOUT_S = 120.0
LOAD_TIMEOUT_S = 30.0
LEARN_S = 5.0
"""For the workers to poll how many they are."""
PAUSE_S = 0.5
"""Between publications, so that all workers are idle again."""


def listen(address, num_workers, loaded, ending):
    """A process with several workers; puts (version, time) whenever one has loaded new weights."""
    network = nets.build(zf.games.get(GAME), NETWORK)
    with ExitStack() as stack:
        workers = []
        for _ in range(num_workers):
            bus = stack.enter_context(closing(RedisBus(address, RUN)))
            feed = FleetWeightsFeed(bus, 0, ending.is_set, sys.exit, FleetConfig(), print)
            evaluator = make_evaluator(network, device="cpu", num_threads=1)
            feed.start()
            stack.callback(feed.join)
            workers.append((feed, make_pipeline(evaluator, 1, 1)))
        loaded.put((0, time.monotonic()))
        while not ending.is_set():
            for feed, pipeline in workers:
                before = pipeline.version
                feed.load_newest(pipeline)
                if pipeline.version != before:
                    loaded.put((pipeline.version, time.monotonic()))
            time.sleep(LOOK_S)


def publish_to(num_workers, num_publications):
    """Latencies in seconds, of all workers, per publication; bytes of the weights, and the most
    that Redis used."""
    spawn = multiprocessing.get_context("spawn")
    loaded, ending = spawn.Queue(), spawn.Event()
    with ExitStack() as stack:
        bench = stack.enter_context(Bench())
        bus = stack.enter_context(bench.bus())
        bus.lead("here", timeout_s=15)
        shares = [len(range(i, num_workers, NUM_PROCESSES)) for i in range(NUM_PROCESSES)]
        for share in filter(None, shares):
            process = spawn.Process(
                target=listen, args=(bench.address, share, loaded, ending), daemon=True
            )
            process.start()
            stack.callback(process.kill)
        for _ in filter(None, shares):
            loaded.get(timeout=START_TIMEOUT_S)
        bus.set_pace(Pace(0, 1))  # a trainer tells with it how many listen
        time.sleep(LEARN_S)
        publisher = WeightsPublisher(bus, sys.exit)
        tensors = nets.build(zf.games.get(GAME), NETWORK).state_dict()
        num_bytes = sum(each.numel() * each.element_size() for each in tensors.values())
        latencies = []
        for step in range(1, num_publications + 1):
            start_s = time.monotonic()
            publisher.publish(step, tensors, at_least=step)
            found = [loaded.get(timeout=LOAD_TIMEOUT_S) for _ in range(num_workers)]
            assert {version for version, _ in found} == {step}
            latencies.append([at_s - start_s for _, at_s in found])
            time.sleep(PAUSE_S)
        ending.set()
        peak_bytes = bench.info("memory")["used_memory_peak"]
    return latencies, num_bytes, peak_bytes


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=50)
    parser.add_argument("--publications", type=int, default=20)
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    latencies, num_bytes, peak_bytes = publish_to(arguments.workers, arguments.publications)
    everyone = sorted(latency for each in latencies for latency in each)
    p99 = statistics.quantiles(everyone, n=100, method="inclusive")[98]
    found = {
        "workers": arguments.workers,
        "publications": len(latencies),
        "weights_bytes": num_bytes,
        "first_s": statistics.median(min(each) for each in latencies),
        "median_s": statistics.median(everyone),
        "p99_s": p99,
        "longest_s": everyone[-1],
        "redis_peak_bytes": peak_bytes,
    }
    reached = p99 < GOAL_S
    table = [
        f"{num_bytes / 1e6:.1f} MB to {arguments.workers} workers, {len(latencies)} times: first "
        f"{found['first_s']:.2f} s, median {found['median_s']:.2f} s, p99 {p99:.2f} s, longest "
        f"{found['longest_s']:.2f} s; at most {peak_bytes / 1e6:.0f} MB in Redis",
        f"goal p99 < {GOAL_S:g} s: {'reached' if reached else 'missed'}",
    ]
    print("\n".join(table))
    if not arguments.no_record:
        command = f"bench/fleet/weights.py --workers {arguments.workers}"
        found |= {"reached": reached, "latencies_s": latencies, "table": table}
        record("fleet-weights", f"{command} --publications {arguments.publications}", found)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
