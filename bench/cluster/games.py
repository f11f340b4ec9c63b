"""Games/s of workers that ask an inference server, over those of workers that evaluate themselves,
on the same cores.

Each leg has its own Redis and a trainer that takes games in and never trains. Workers and server
share one set of cores, the trainer and Redis have none of their own. On CPUs there is a server per
core, as there is a worker's process per core; on a GPU both legs evaluate on it.

The ratio is that of simulations/s: a game has as many on either side, while games, which all begin
at once, end in waves that are longer than a leg.
"""

import os
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
from parts import NEVER_TRAINS, RUN, Bench, wait_for

from zerofleet.arena.two_samples import t_quantile

COUNTERS = ("games", "simulations")
SETTLED_S = 5.0
"""From the first game on; then games are counted."""


@contextmanager
def on_cores(cores):
    """What is started here runs on these alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def per_s(side, game, preset, cores, device, seconds, settings):
    """Games and simulations/s of one leg: `own` or `remote`."""
    with Bench() as bench:
        bench.trainer(game, *NEVER_TRAINS, *settings, preset=preset)
        bench.wait_for_trainer()
        on_device = ("--device", device)
        with on_cores(cores):
            if side == "remote":
                for number in range(len(cores) if device == "cpu" else 1):
                    name = f"server-{number}"
                    bench.role(name, "inference", "--run", RUN, "--server-id", name, *on_device)
                kind, processes = ("--evaluator", "remote"), remote_processes(cores, device)
            else:
                kind, processes = on_device, len(cores) if device == "cpu" else 1
            command = ("worker", "--run", RUN, "--worker-id", "w", "--processes", str(processes))
            bench.role("worker", *command, *kind)
        with bench.bus() as bus:
            wait_for(lambda: played(bus)["games"] > 0, "games", bench["worker"], patience_s=300)
            time.sleep(SETTLED_S)
            before, start_s = played(bus), time.monotonic()
            time.sleep(seconds)
            after, wall_s = played(bus), time.monotonic() - start_s
            return {name: (after[name] - before[name]) / wall_s for name in COUNTERS}


def remote_processes(cores, device):
    """On a GPU the server has a core for itself."""
    return max(1, len(cores) - (device != "cpu"))


def played(bus):
    workers = [each.counters for each in bus.roles() if each.kind == "worker"]
    return {name: sum(each.get(name, 0) for each in workers) for name in COUNTERS}


def compare(game, preset, cores, device, seconds, rounds, settings):
    """Legs alternate: own, remote, remote, own. The interval is of 95 %, by the ratios of pairs."""
    found = {"own": [], "remote": []}
    for _ in range(rounds):
        for side in ("own", "remote", "remote", "own"):
            leg = per_s(side, game, preset, cores, device, seconds, settings)
            found[side].append(leg)
            print(
                f"  {game}/{preset} {side:6} {leg['games']:8.2f} games/s "
                f"{leg['simulations']:10,.0f} simulations/s",
                flush=True,
            )
    ratios = [
        remote["simulations"] / own["simulations"]
        for own, remote in zip(found["own"], found["remote"], strict=True)
    ]
    ratio = statistics.mean(ratios)
    half = t_quantile(len(ratios) - 1) * statistics.stdev(ratios) / len(ratios) ** 0.5
    return {
        "preset": f"{game}/{preset}",
        "cores": len(cores),
        "device": device,
        "settings": list(settings),
        "ratio": ratio,
        "interval": [ratio - half, ratio + half],
        "games_per_s": {
            side: statistics.mean(leg["games"] for leg in legs) for side, legs in found.items()
        },
        "legs": found,
    }
