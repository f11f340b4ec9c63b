"""Games/s of workers that ask an inference server, over those of workers that evaluate themselves,
on the same cores.

Both sides are workers of one run, in alternate legs (bench/fleet/legs.py), whose trainer takes
games in and never trains. Workers and servers share one set of cores, the trainer and Redis have
none of their own. On CPUs there is a server per core, as there is a worker per core; on a GPU both
sides evaluate on it.

The ratio is that of simulations/s: a game has as many on either side, while games, which all begin
at once, end in waves that are longer than a leg.
"""

import os
import re
import statistics
import sys
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import urlopen

sys.path.insert(0, str(Path(__file__).parents[1] / "fleet"))
from legs import MAX_OTHER_CORES as MAX_OTHER_CORES
from legs import Side, alternate, ratio_of_pairs
from parts import NEVER_TRAINS, RUN, Bench, wait_for

COUNTERS = ("games", "simulations")
SETTLED_S = 4.0
"""Of each leg before it is measured."""
START_S = 300
PATIENT = "fleet.inference_timeout_s=600"
"""A server that is stopped for a leg is not left for another."""


@contextmanager
def on_cores(cores):
    """What is started here runs on these alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class Players:
    """The workers of one side, by what each says of itself over HTTP."""

    def __init__(self, side):
        self.side = side
        self._names = []
        self._addresses = []

    def worker(self, name, *options):
        command = ("worker", "--run", RUN, "--worker-id", name, "--processes", "1")
        self.side.role(name, *command, *options)
        self._names.append(name)

    def wait_until_they_play(self, bus):
        def play():
            self.side.refuse_ended()
            roles = {role.id: role for role in bus.roles()}
            return all(
                name in roles and roles[name].counters.get("simulations", 0) for name in self._names
            )

        wait_for(play, f"{', '.join(self._names)} to play", patience_s=START_S)
        by_id = {role.id: role.address for role in bus.roles()}
        self._addresses = [by_id[name] for name in self._names]
        self.side.stop()

    def leg(self, seconds):
        """Games and simulations/s, and what other programs used."""
        with self.side.running() as others:
            time.sleep(SETTLED_S)
            before, start_s = self._played(), time.monotonic()
            time.sleep(seconds - SETTLED_S)
            after, wall_s = self._played(), time.monotonic() - start_s
        per_s = {name: (after[name] - before[name]) / wall_s for name in COUNTERS}
        return per_s | {"other_cores": others.cores}

    def _played(self):
        texts = [urlopen(f"http://{each}/metrics").read().decode() for each in self._addresses]
        return {name: sum(counter(text, name) for text in texts) for name in COUNTERS}


def counter(text, name):
    """Of a page of metrics for Prometheus."""
    return float(re.search(rf"^zerofleet_{name}_total\S* (\S+)$", text, re.MULTILINE)[1])


def start(stack, bench, cores, device):
    """Both sides, stopped: by name."""
    players = {name: Players(stack.enter_context(Side(bench))) for name in ("own", "remote")}
    of_gpu = device != "cpu"
    with bench.bus() as bus, on_cores(cores):
        for number in range(1 if of_gpu else len(cores)):
            threads = ("--threads", str(max(1, len(cores) - 1))) if of_gpu else ()
            players["own"].worker(f"own-{number}", "--device", device, *threads)
        players["own"].wait_until_they_play(bus)
        for number in range(1 if of_gpu else len(cores)):
            name = f"server-{number}"
            command = ("inference", "--run", RUN, "--server-id", name, "--device", device)
            players["remote"].side.role(name, *command)
        for number in range(max(1, len(cores) - of_gpu)):  # a GPU's server has a core for itself
            players["remote"].worker(f"remote-{number}", "--evaluator", "remote")
        players["remote"].wait_until_they_play(bus)
    return players


def compare(game, preset, cores, device, minutes, seconds, max_other_cores, settings):
    """Legs of both, their ratio by blocks, and its 95 % interval."""
    end_s = time.monotonic() + minutes * 60
    with ExitStack() as stack:
        bench = stack.enter_context(Bench())
        bench.trainer(game, *NEVER_TRAINS, PATIENT, *settings, preset=preset)
        bench.wait_for_trainer()
        players = start(stack, bench, cores, device)

        def show(name, leg):
            print(
                f"  {game}/{preset} {name:6} {leg['games']:8.2f} games/s "
                f"{leg['simulations']:10,.0f} simulations/s  "
                f"other programs {leg['other_cores']:.2f} cores",
                flush=True,
            )

        legs = alternate(players, seconds, end_s, max_other_cores, show)
    ratio, interval, ratios = ratio_of_pairs(
        *([leg["simulations"] for leg in legs[name]] for name in ("remote", "own"))
    )
    return {
        "preset": f"{game}/{preset}",
        "cores": len(cores),
        "device": device,
        "settings": list(settings),
        "ratio": ratio,
        "interval": interval,
        "blocks": ratios,
        "games_per_s": {
            side: statistics.mean(leg["games"] for leg in found) for side, found in legs.items()
        },
        "legs": legs,
    }
