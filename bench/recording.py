"""Records benchmark results in bench/results, with hardware, date, commit and command."""

import datetime
import json
import os
import platform
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def commit():
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        return "unknown: not in a checkout"
    return subprocess.run(git, stdout=subprocess.PIPE, text=True).stdout.strip()


STARTED_AT = commit()
"""A long measurement records the commit at which it began."""


def gpu():
    """The machine's NVIDIA GPUs, if any."""
    if shutil.which("nvidia-smi") is None:
        return {}
    query = ["nvidia-smi", "--query-gpu=name,memory.total,driver_version", "--format=csv,noheader"]
    said = subprocess.run(query, check=True, stdout=subprocess.PIPE, text=True)
    return {"gpu": said.stdout.strip()}


def facts(command):
    """Date, commit, command and hardware of a measurement."""
    return {
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "commit": STARTED_AT,
        "command": command,
        "processor": processor(),
        "cores": os.cpu_count(),
        **gpu(),
    }


def result_path(name):
    now = datetime.datetime.now(datetime.UTC)
    return ROOT / "bench" / "results" / f"{name}-{now:%Y%m%d-%H%M}.json"


def record(name, command, found):
    """Writes bench/results/NAME-DATE.json and prints its path."""
    path = result_path(name)
    path.write_text(json.dumps(facts(command) | found, indent=1) + "\n")
    print(f"recorded in {path.relative_to(ROOT)}")
