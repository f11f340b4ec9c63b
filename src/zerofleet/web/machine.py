"""Use of this machine's processors and memory, as Linux counts it; nothing elsewhere."""

import os
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from zerofleet.cores import CpuGauge, num_cores
from zerofleet.web.schema import Machine

MEMORY, LOCKS = Path("/proc/meminfo"), Path("/proc/locks")
MIN_INTERVAL_S = 1.0
"""Between two looks; what was found last is shown meanwhile."""


class MachineGauge:
    """Processor use between two looks."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._at_s = 0.0
        self._cpu = CpuGauge()
        self._share: float | None = None

    def look(self, status: Mapping[str, Any]) -> Machine:
        """With the GPUs as a status record reports them."""
        memory = memory_bytes()
        return Machine(
            num_cpus=num_cores(),
            cpu_share=self._cpu_share(),
            memory_bytes=memory and memory[0],
            memory_total_bytes=memory and memory[1],
            gpu_share=status.get("gpu_busy"),
            gpu_watts=status.get("gpu_watts"),
            gpu_memory_bytes=status.get("gpu_memory_bytes"),
            gpu_memory_total_bytes=status.get("gpu_memory_total_bytes"),
        )

    def _cpu_share(self) -> float | None:
        with self._lock:
            now_s = time.monotonic()
            if now_s - self._at_s >= MIN_INTERVAL_S:
                self._share, self._at_s = self._cpu.read(), now_s
            return self._share


def memory_bytes() -> tuple[int, int] | None:
    """Used and all; None where the system does not tell."""
    with suppress(OSError, ValueError, KeyError):
        fields = dict(line.split(":") for line in MEMORY.read_text().splitlines())
        total, free = (int(fields[name].split()[0]) << 10 for name in ("MemTotal", "MemAvailable"))
        return total - free, total
    return None


def is_locked(path: Path) -> bool | None:
    """Whether a process on this machine holds the lock of a file; None where one cannot tell.

    Only looks: taking the lock to find out could refuse a trainer that starts at that moment.
    """
    try:
        found = path.stat()
        lines = LOCKS.read_text().splitlines()
    except FileNotFoundError:
        return False if LOCKS.exists() else None
    except OSError:
        return None
    place = f"{os.major(found.st_dev):02x}:{os.minor(found.st_dev):02x}:{found.st_ino}"
    return any("FLOCK" in line and f" {place} " in line for line in lines)
