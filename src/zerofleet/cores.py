"""The processor: its name, how many of its cores this process may use, how busy it is, and how
often Python's threads take turns."""

import os
import platform
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

CPU_INFO, STAT = Path("/proc/cpuinfo"), Path("/proc/stat")
SWITCH_INTERVAL_S = 0.0005


def num_cores() -> int:
    """Those that the process may run on where the system says that (Linux), else all."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor_name() -> str:
    """Its model where the system says it (Linux), else its architecture."""
    found = re.search(r"^model name\s*: (.+)$", cpu_info(), re.MULTILINE)
    return found[1] if found else platform.machine()


def cpu_info() -> str:
    """The text of /proc/cpuinfo; empty on other systems."""
    return CPU_INFO.read_text() if CPU_INFO.exists() else ""


class CpuGauge:
    """How busy all cores of the machine are, by all programs, between two looks."""

    def __init__(self) -> None:
        self._last = cpu_ticks()

    def read(self) -> float | None:
        """The share since the last look, from 0 to 1; None where the system does not tell."""
        before, self._last = self._last, cpu_ticks()
        if before is None or self._last is None or self._last[1] <= before[1]:
            return None
        busy, whole = self._last[0] - before[0], self._last[1] - before[1]
        return round(min(1.0, max(0.0, busy / whole)), 3)


def cpu_ticks() -> tuple[int, int] | None:
    """Busy and all ticks of all cores; None where the system does not tell."""
    with suppress(OSError, ValueError, IndexError):
        ticks = [int(each) for each in STAT.read_text().splitlines()[0].split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks)
    return None


@contextmanager
def short_switch_interval() -> Iterator[None]:
    """Shortens Python's thread switch interval inside this context.

    The thread that moves batches needs little time but needs it at once: with the default interval
    of 5 ms, a thread that trains, sends games or checks weights would leave the GPU idle.
    """
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
