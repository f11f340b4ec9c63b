"""Hardware, programs and libraries of this machine, and how to install what is missing."""

import os
import platform
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

from zerofleet.arena import gnubg
from zerofleet.cores import cpu_info, num_cores, processor_name
from zerofleet.errors import Unsupported
from zerofleet.games.build import compiler_version, find_compiler
from zerofleet.printing import size_text

MEMORY_INFO = Path("/proc/meminfo")


@dataclass(frozen=True)
class Finding:
    """One item: what was found, or how to get it."""

    what: str
    found: str
    """Empty if it is missing."""
    used_for: str = ""
    fix: str = ""
    is_needed: bool = False


# ---- hardware


def hardware() -> list[Finding]:
    cores = num_cores()
    return [
        Finding("processor", processor_name()),
        Finding("cores", f"{cores} of {os.cpu_count()} may be used"),
        Finding("AVX2", "yes" if "avx2" in cpu_flags() else "no"),
        Finding("memory", memory_text()),
    ]


def cpu_flags() -> set[str]:
    found = re.search(r"^flags\s*: (.+)$", cpu_info(), re.MULTILINE)
    return set(found[1].split()) if found else set()


def memory_text() -> str:
    page_bytes = os.sysconf("SC_PAGE_SIZE")
    total = size_text(os.sysconf("SC_PHYS_PAGES") * page_bytes)
    available = re.search(r"^MemAvailable:\s*(\d+) kB$", memory_info(), re.MULTILINE)
    return f"{total}, {size_text(int(available[1]) * 1024)} free" if available else total


def memory_info() -> str:
    """The text of /proc/meminfo; empty on other systems."""
    return MEMORY_INFO.read_text() if MEMORY_INFO.exists() else ""


# ---- programs and libraries


def programs() -> list[Finding]:
    return [
        Finding("Python", platform.python_version()),
        Finding("C++ compiler", compiler(), "custom games in C++", "apt-get install g++"),
        Finding(
            "GnuBG",
            gnubg.find_program() or "",
            "the backgammon players gnubg-0, 1 and 2",
            "apt-get install gnubg",
        ),
    ]


def compiler() -> str:
    """The first line of its version; empty if there is none."""
    try:
        return compiler_version(find_compiler()).partition("\n")[0]
    except Unsupported:
        return ""


def libraries() -> list[Finding]:
    """The dependencies of the package and its extras, and wandb."""
    used_for = {
        "": "everything",
        "play": "networks",
        "train": "training",
        "gpu": "GPU utilisation, power and memory in the metrics",
    }
    found = [
        Finding(
            name,
            installed_version(name),
            used_for[extra],
            f"pip install 'zerofleet[{extra}]'" if extra else "pip install zerofleet",
            is_needed=extra != "gpu",
        )
        for name, extra in required_libraries()
        if extra in used_for
    ]
    return [
        *found,
        Finding("wandb", installed_version("wandb"), "train --track wandb", "pip install wandb"),
    ]


def required_libraries() -> Iterator[tuple[str, str]]:
    """Name and extra of each dependency in the package's metadata."""
    for requirement in requires("zerofleet") or []:
        name = re.match(r"[\w.-]+", requirement)
        extra = re.search(r"extra == ['\"](\w+)['\"]", requirement)
        if name and name[0] != "zerofleet":  # an extra that includes another
            yield name[0], extra[1] if extra else ""


def installed_version(library: str) -> str:
    try:
        return version(library)
    except PackageNotFoundError:
        return ""
