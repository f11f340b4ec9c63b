"""Games/s of workers that ask an inference server, over those of workers that evaluate themselves,
on the same cores.

Each leg has its own Redis and a trainer that takes games in and never trains. Workers and server
share one set of cores, the trainer and Redis have none of their own. On CPUs there is a server per
core, as there is a worker's process per core; on a GPU both legs evaluate on it.
"""

import os
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
from parts import NEVER_TRAINS, RUN, Bench, wait_for

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


def games_per_s(side, game, preset, cores, device, seconds, settings):
    """Of one leg: `own` or `remote`."""
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
            wait_for(lambda: played(bus) > 0, "games", bench["worker"], patience_s=300)
            time.sleep(SETTLED_S)
            games, start_s = played(bus), time.monotonic()
            time.sleep(seconds)
            return (played(bus) - games) / (time.monotonic() - start_s)


def remote_processes(cores, device):
    """On a GPU the server has a core for itself."""
    return max(1, len(cores) - (device != "cpu"))


def played(bus):
    return sum(each.counters.get("games", 0) for each in bus.roles() if each.kind == "worker")


def compare(game, preset, cores, device, seconds, rounds, settings):
    """Legs alternate: own, remote, remote, own."""
    found = {"own": [], "remote": []}
    for _ in range(rounds):
        for side in ("own", "remote", "remote", "own"):
            per_s = games_per_s(side, game, preset, cores, device, seconds, settings)
            found[side].append(per_s)
            print(f"  {game}/{preset} {side:6} {per_s:8.2f} games/s", flush=True)
    means = {side: statistics.mean(values) for side, values in found.items()}
    return {
        "preset": f"{game}/{preset}",
        "cores": len(cores),
        "device": device,
        "settings": list(settings),
        "ratio": means["remote"] / means["own"],
        "games_per_s": means,
        "legs": found,
    }
