"""Simulations/s of the core alone: WebAssembly under node ÷ native, one thread each.

Both play the same games with the hash evaluator, in turns within one run. Seconds are CPU time, and
the ratio is that of each turn, so that what else the machine does touches both alike; the median of
the turns counts.

    make test-wasm && .venv/bin/python bench/wasm/run.py
"""

import argparse
import json
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import recording  # noqa: E402

SETTINGS = {
    "num_simulations": 200,
    "dirichlet_epsilon": 0,
    "forced_playouts": 0,
    "cache_bytes": 0,
    "reuse_tree": False,
}
NATIVE = ROOT / "build" / "native" / "zerofleet_reference"
BUILDS = {"simd": "zerofleet.wasm", "plain": "zerofleet-plain.wasm"}
GAMES = ["backgammon", "beastybar", "connect4", "gomoku"]


def speed(command, game, seconds):
    """Simulations/s that the command prints."""
    asked = [game, json.dumps(SETTINGS), "hash", "2", "32", "1", str(seconds)]
    said = subprocess.run([*command, *asked], check=True, stdout=subprocess.PIPE, text=True)
    return float(said.stdout)


def measure(game, seconds, turns):
    """The median of each kind, and of the ratios of each turn."""
    kinds = {"native": [str(NATIVE), "speed"]}
    for kind, build in BUILDS.items():
        kinds[kind] = ["node", str(ROOT / "bench" / "wasm" / "speed.mjs"), build]
    found = [{kind: speed(kinds[kind], game, seconds) for kind in kinds} for _ in range(turns)]
    row = {f"{kind}_per_s": statistics.median(each[kind] for each in found) for kind in kinds}
    for kind in BUILDS:
        ratios = sorted(each[kind] / each["native"] for each in found)
        row[f"{kind}_over_native"] = round(statistics.median(ratios), 3)
        row[f"{kind}_over_native_range"] = [round(ratios[0], 3), round(ratios[-1], 3)]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=3, help="per measurement")
    parser.add_argument("--turns", type=int, default=5)
    options = parser.parse_args()
    node = subprocess.run(["node", "--version"], check=True, stdout=subprocess.PIPE, text=True)
    cache = (ROOT / "build" / "native" / "CMakeCache.txt").read_text()
    arch = next(line for line in cache.splitlines() if line.startswith("ZEROFLEET_ARCH:"))
    found = {"node": node.stdout.strip(), "native_arch": arch.partition("=")[2], "games": {}}
    for game in GAMES:
        found["games"][game] = measure(game, options.seconds, options.turns)
        print(game, json.dumps(found["games"][game]), flush=True)
    command = f"bench/wasm/run.py --seconds {options.seconds:g} --turns {options.turns}"
    recording.record("wasm", command, {**found, "settings": SETTINGS})


if __name__ == "__main__":
    main()
