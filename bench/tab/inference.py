"""What limits a tab's network: ONNX Runtime Web ÷ native, per batch, and where its time goes.

Both evaluate the shipped weights with one thread, in turns, in microseconds of CPU time per row;
the tab's runtime under node, whose engine is that of Chromium. The shares of operators are those of
the runtime's own profile, after it has warmed up.

    make web && .venv/bin/python bench/tab/inference.py
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench")]
import recording  # noqa: E402

from zerofleet.infer.onnx_evaluator import OnnxEvaluator  # noqa: E402
from zerofleet.infer.onnx_file import onnx_with_weights  # noqa: E402
from zerofleet.weights import read_graph  # noqa: E402

KINDS = ("gomoku-15", "connect4", "backgammon", "beastybar")
SCRIPT = str(ROOT / "bench" / "tab" / "inference.mjs")
PROFILED_BATCH, PROFILED_RUNS = 16, 200


def in_node(*arguments):
    command = ["node", SCRIPT, *map(str, arguments)]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


def natively(evaluate, row_bytes, batch, seconds):
    rows = np.resize(np.arange(3, dtype=np.uint8), (batch, row_bytes))
    evaluate(rows)
    num_runs, began_s = 0, time.process_time()
    while time.process_time() < began_s + seconds:
        evaluate(rows)
        num_runs += 1
    return 1e6 * (time.process_time() - began_s) / num_runs / batch


def shares(path, row_bytes):
    """Of the time in operators, by kind of operator, the largest first."""
    events = json.loads(in_node("operators", path, row_bytes, PROFILED_BATCH, PROFILED_RUNS))
    runs = [each["ts"] for each in events if each["name"] == "model_run"]
    taken = defaultdict(list)
    for each in events:
        if each["name"].endswith("_kernel_time") and each["ts"] > runs[len(runs) // 2]:
            taken[each["args"]["op_name"], each["name"]].append(each["dur"])
    total = Counter()
    for (operator, _), durations in taken.items():
        total[operator] += statistics.median(durations)
    return {name: round(us / total.total(), 3) for name, us in total.most_common(8)}


def measure(kind, batches, seconds, turns, folder):
    weights = ROOT / "weights" / kind
    graph, state = read_graph(weights), load_file(weights / "weights.safetensors")
    path = folder / f"{kind}.onnx"
    path.write_bytes(onnx_with_weights(graph, state, 1))
    evaluate, row_bytes = OnnxEvaluator(graph, state), graph.spec["observation_bytes"]
    row = {"operators": shares(path, row_bytes)}
    for batch in batches:
        found = [
            (
                natively(evaluate, row_bytes, batch, seconds),
                float(in_node("speed", path, row_bytes, batch, seconds)),
            )
            for _ in range(turns)
        ]
        ratios = sorted(here / there for here, there in found)
        row[batch] = {
            "native_us_per_row": round(statistics.median(here for here, _ in found), 1),
            "tab_us_per_row": round(statistics.median(there for _, there in found), 1),
            "tab_over_native": round(statistics.median(ratios), 3),
            "tab_over_native_range": [round(ratios[0], 3), round(ratios[-1], 3)],
        }
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=2, help="of CPU time, per measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--games", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 8, 16, 64])
    options = parser.parse_args()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for kind in options.games:
            found[kind] = measure(
                kind, options.batches, options.seconds, options.turns, Path(folder)
            )
            print(kind, json.dumps(found[kind]), flush=True)
    command = (
        f"bench/tab/inference.py --seconds {options.seconds:g} --turns {options.turns} "
        f"--batches {' '.join(map(str, options.batches))} --games {' '.join(options.games)}"
    )
    recording.record("tab-inference", command, found)


if __name__ == "__main__":
    main()
