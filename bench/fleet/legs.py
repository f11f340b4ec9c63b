"""Two sides of a comparison in alternate legs, on the same cores.

    with Side(bench) as own, Side(bench) as other:
        own.role("a", "worker", "--run", RUN)
        ...
        found = alternate({"own": run, "other": other_run}, seconds, end_s, max_other_cores, show)

Both are there all the time, and a side's processes are stopped (SIGSTOP) except in its legs: no leg
pays for a start, so that there are many of them. A block has a leg of each; every other block has
them in reverse order. A leg during which other programs used many cores is run again.
"""

import itertools
import math
import os
import signal
import statistics
import sys
import time
from contextlib import contextmanager
from pathlib import Path

from zerofleet.arena.two_samples import t_quantile

MAX_OTHER_CORES = 0.25
"""Of other programs during a leg that counts."""


class Side:
    """Processes that are stopped except in its legs, and end with the block."""

    def __init__(self, bench):
        self._bench = bench
        self._roles = []

    def __enter__(self):
        return self

    def __exit__(self, *fault):
        for role in self._roles:
            role.kill()

    def role(self, name, *arguments, **more):
        """Runs until `stop`."""
        self._roles.append(self._bench.role(name, *arguments, **more))

    def stop(self):
        for role in self._roles:
            role.signal(signal.SIGSTOP)

    @contextmanager
    def running(self):
        """What other programs used meanwhile."""
        others = OtherPrograms(self._bench)
        for role in self._roles:
            role.signal(signal.SIGCONT)
        yield others
        self.stop()
        others.end()
        self.refuse_ended()

    def refuse_ended(self):
        for role in self._roles:
            if role.exit_status is not None:
                sys.exit(f"a role has ended\n{role.output.read_text()[-2000:]}")


class OtherPrograms:
    """How many of a benchmark's cores other programs use."""

    def __init__(self, bench):
        self._bench = bench
        self._start = time.monotonic(), self._others_s()
        self.cores = 0.0
        """The mean from its making to its end."""

    def end(self):
        """Once what was measured has stopped."""
        start_s, others_s = self._start
        self.cores = (self._others_s() - others_s) / (time.monotonic() - start_s)

    def _others_s(self):
        own_s = time.process_time() + sum(map(self._bench.usage.cpu_s, self._bench.usage.names()))
        return busy_s(os.sched_getaffinity(0)) - own_s


def busy_s(cores):
    """Seconds in which these cores were busy, summed."""
    ticks = 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *counts = line.split()
        if name.removeprefix("cpu").isdecimal() and int(name.removeprefix("cpu")) in cores:
            user, nice, system, _, _, *interrupted = map(int, counts[:8])
            ticks += user + nice + system + sum(interrupted)
    return ticks / os.sysconf("SC_CLK_TCK")


def alternate(runs, seconds, end_s, max_other_cores, show):
    """The legs of each run by its name, of whole blocks, as many as fit before the end.

    `run.leg(seconds)` gives the figures of a leg, among them `other_cores`; `show(name, leg)` is
    called for each. One with more than `max_other_cores` does not count, and is run again.
    """
    found = {name: [] for name in runs}

    def quiet_leg(name):
        while time.monotonic() + seconds <= end_s:
            leg = runs[name].leg(seconds)
            show(name, leg)
            if leg["other_cores"] <= max_other_cores:
                return leg
        return None

    for number in itertools.count():
        block = {}
        for name in reversed(runs) if number % 2 else runs:
            block[name] = quiet_leg(name)
            if block[name] is None:
                return found
        for name, leg in block.items():
            found[name].append(leg)


def ratio_of_pairs(above, below):
    """The geometric mean of the ratios of blocks, its 95 % interval by Student over them, and the
    ratios. A machine that becomes slower from block to block does not widen the interval."""
    ratios = [over / under for over, under in zip(above, below, strict=True)]
    if len(ratios) < 2:
        sys.exit(f"{len(ratios)} quiet blocks of legs: an interval needs two; see --minutes")
    logs = [math.log(each) for each in ratios]
    mean = statistics.mean(logs)
    half = t_quantile(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), [math.exp(mean - half), math.exp(mean + half)], ratios
