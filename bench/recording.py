"""Keeps what a benchmark found in bench/results, with machine, date, commit and command."""

import datetime
import json
import os
import platform
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[1]


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.machine()


def record(name, command, found):
    """Writes bench/results/NAME-DATE.json and says so."""
    git = ["git", "-C", str(ROOT), "describe", "--always", "--dirty"]
    now = datetime.datetime.now(datetime.UTC)
    facts = {
        "date": now.isoformat(timespec="seconds"),
        "commit": subprocess.run(git, stdout=subprocess.PIPE, text=True).stdout.strip(),
        "command": command,
        "processor": processor(),
        "cores": os.cpu_count(),
    }
    path = ROOT / "bench" / "results" / f"{name}-{now:%Y%m%d-%H%M}.json"
    path.write_text(json.dumps(facts | found, indent=1) + "\n")
    print(f"recorded in {path.relative_to(ROOT)}")
