"""Throughput of the core and its peers on one CPU core, in one run.

    .venv/bin/python bench/core/run.py [--seconds 5] [--no-record]

The peers (OpenSpiel, mctx) are installed into build/bench-peers. Each side runs in its own process,
pinned to the same core, one after the other. Prints a table and records it in bench/results/.
"""

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
PEERS = ROOT / "build" / "bench-peers"

# Name, goal as a ratio to the peer, goal per second. The project sets the ratios against OpenSpiel
# (random games, playout search) and mctx (batched search). 150,000 games/s of Beasty Bar is three
# times a public Cython engine (44,000 to 61,000 games/s).
ROWS = [
    ("backgammon random games", 10, None),
    ("gomoku random games", 20, None),
    ("beastybar random games", None, 150_000),
    ("connect4 random games", None, None),
    ("gomoku playout search", 5, None),
    ("backgammon playout search", 8, None),
    ("gomoku batched search, 200", 40, 300_000),
    ("gomoku batched search, 800", None, 300_000),
    ("backgammon batched search", None, 200_000),
    ("beastybar batched search", None, 200_000),
]
SCALING_GOAL = 0.95
"""Of two threads over two processes."""


def pinned(core, *command):
    """Runs a command on one core and returns the last line of its output."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    output = subprocess.run(
        ["taskset", "-c", str(core), *map(str, command)],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
    )
    return output.stdout.strip().splitlines()[-1]


def install_peers():
    marker = PEERS / "installed.txt"
    wanted = (HERE / "peers.txt").read_text()
    if marker.exists() and marker.read_text() == wanted:
        return
    print("installing the peers into build/bench-peers", file=sys.stderr)
    subprocess.run([sys.executable, "-m", "venv", PEERS], check=True)
    pip = [PEERS / "bin" / "pip", "install", "-q", "-r", HERE / "peers.txt"]
    subprocess.run(pip, check=True)
    marker.write_text(wanted)


def measure_scaling(seconds, game, num_simulations):
    """Throughput on two threads over that of two concurrent one-thread processes; three ratios."""
    command = [sys.executable, HERE / "ours.py", str(seconds), game, str(num_simulations)]
    ratios = []
    for _ in range(3):
        pair = [
            subprocess.Popen([*command, "1"], stdout=subprocess.PIPE, text=True) for _ in range(2)
        ]
        apart = sum(float(process.communicate()[0]) for process in pair)
        together = float(subprocess.run([*command, "2"], stdout=subprocess.PIPE, text=True).stdout)
        ratios.append(together / apart)
    return sorted(ratios)


def table(ours, peers):
    lines = [f"{'one thread, per second':38} {'zerofleet':>12} {'peer':>12} {'ratio':>8}  goal"]
    for name, goal_ratio, goal_per_s in ROWS:
        ours_per_s = ours["per_s"][name]
        peer_per_s = peers["per_s"].get(name)
        ratio = f"{ours_per_s / peer_per_s:.1f}x" if peer_per_s else "-"
        peer_text = f"{peer_per_s:,.0f}" if peer_per_s else "-"
        goals = [f"{goal_ratio}x"] if goal_ratio else []
        goals += [f"{goal_per_s:,}"] if goal_per_s else []
        row = f"{name:38} {ours_per_s:12,.0f} {peer_text:>12} {ratio:>8}"
        lines.append(f"{row}  {' and '.join(goals)}".rstrip())
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="per measurement")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    install_peers()
    core = (os.cpu_count() or 1) - 1
    peers = json.loads(pinned(core, PEERS / "bin" / "python", HERE / "peers.py", arguments.seconds))
    ours = json.loads(pinned(core, sys.executable, HERE / "ours.py", arguments.seconds))
    lines = table(ours, peers)
    for game, size in ours["bytes_per_simulation"].items():
        lines.append(f"{game}: {size:.0f} bytes of tree per simulation")
    scaling = {}
    if (os.cpu_count() or 1) >= 2:
        for game, num_simulations in (("gomoku", 800), ("backgammon", 200), ("beastybar", 200)):
            ratios = measure_scaling(arguments.seconds, game, num_simulations)
            scaling[game] = ratios
            text = ", ".join(f"{ratio:.3f}" for ratio in ratios)
            lines.append(f"{game}: two threads over two processes: {text} (goal {SCALING_GOAL})")
    print("\n".join(lines))
    if arguments.no_record:
        return
    found = {
        "peers": peers,
        "ours": ours,
        "two_threads_over_two_processes": scaling,
        "table": lines,
    }
    record("core", f"bench/core/run.py --seconds {arguments.seconds:g}", found)


if __name__ == "__main__":
    main()
