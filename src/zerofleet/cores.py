"""The processor: its name, and how many of its cores this process may use."""

import os
import platform
import re
from pathlib import Path

CPU_INFO = Path("/proc/cpuinfo")


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
