"""Throughput of one GPU machine: inference, self-play, search and training, each alone, and
self-play concurrent with training.

    zerofleet bench gpu [--seconds 10] [--only 'check *' 'selfplay beastybar large*'] [--list]
    zerofleet bench gpu --only goals --seconds 60

Each measurement has a name and is recorded as soon as it ends, so an interrupted run keeps its
results. A failed measurement is recorded with its error, and the exit status is 1. GPU outputs that
deviate too far from the reference network are a failure.
"""

import argparse
import fnmatch
import json
import sys
import time
import traceback
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1]))
from gpu import ablation, fp8, inference, overlap, search, selfplay, training
from recording import facts, result_path

MEASUREMENTS = {
    **inference.MEASUREMENTS,
    **fp8.MEASUREMENTS,
    **selfplay.MEASUREMENTS,
    **search.MEASUREMENTS,
    **training.MEASUREMENTS,
    **overlap.MEASUREMENTS,
    **ablation.MEASUREMENTS,
}
GOALS = {
    "selfplay beastybar large puct-200": "61 games/s, GPU busy 95 %, 0.9 of bare",
    "selfplay beastybar large gumbel-32": "300 games/s",
    "selfplay beastybar cards-medium puct-200": "150 games/s",
    "selfplay gomoku medium puct-400": "GPU busy 95 %, 0.9 of bare",
    "selfplay backgammon large puct-100": "",
    "bare beastybar large *": "600,000 inferences/s",
    "search backgammon 100": "0.9 of independent processes",
    "training beastybar large 16384": "250,000 samples/s",
    "overlap beastybar large puct-200": "loss of at most 15 % by positions",
}
"""The project's goals on one H200 with 16 cores, by measurement. A published plan for
Beasty Bar (200 simulations, a 10 M-parameter transformer) expects 61 games/s of a cluster of 24
GPUs (16 A10G, 8 H100) and 768 CPU cores. The other goals are the project's own."""
SELECTIONS = {"goals": list(GOALS), "ablation": list(ablation.MEASUREMENTS)}
"""Names that --only takes for several measurements."""


def short(value):
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def line_of(name, found):
    goals = [goal for pattern, goal in GOALS.items() if goal and fnmatch.fnmatch(name, pattern)]
    figures = [f"{key} {short(value)}" for key, value in found.items()]
    return f"{name:44} " + "  ".join([*figures, *(f"(goal: {goal})" for goal in goals)])


def names_of(only):
    """The selected measurements, each once; ValueError if a pattern matches nothing."""
    names = {}
    for pattern in (pattern for given in only for pattern in SELECTIONS.get(given, [given])):
        found = fnmatch.filter(MEASUREMENTS, pattern)
        if not found:
            raise ValueError(f"no measurement matches {pattern}; see --list")
        names |= dict.fromkeys(found)
    return list(names)


def main():
    parser = argparse.ArgumentParser(
        "zerofleet bench gpu", description=__doc__.partition("\n\n")[0]
    )
    parser.add_argument("--seconds", type=float, default=10, help="of each measurement")
    parser.add_argument(
        "--only",
        nargs="+",
        metavar="NAME",
        default=["*"],
        help="measurements, * matches anything; goals: those with a goal; ablation",
    )
    parser.add_argument("--list", action="store_true", help="print the names")
    parser.add_argument("--no-compile", action="store_true", help="plain CUDA graphs")
    parser.add_argument("--out", type=Path, help="instead of bench/results/gpu-DATE.json")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    try:
        names = names_of(arguments.only)
    except ValueError as error:
        parser.error(str(error))
    if arguments.list:
        print("\n".join(names))
        return
    if not torch.cuda.is_available():
        parser.error("this machine has no CUDA GPU that torch can use")
    inference.use_compiler(not arguments.no_compile)
    command = " ".join(["bench/gpu/run.py", *sys.argv[1:]])
    result = facts(command) | {"found": {}}
    path = arguments.out or result_path("gpu")
    for name in names:
        start = time.perf_counter()
        try:
            found = MEASUREMENTS[name](arguments.seconds)
        except Exception as error:
            traceback.print_exc()
            found = {"error": f"{type(error).__name__}: {error}"}
        result["found"][name] = found | {"took_s": round(time.perf_counter() - start, 1)}
        print(line_of(name, result["found"][name]), flush=True)
        if not arguments.no_record:
            path.write_text(json.dumps(result, indent=1) + "\n")
    sys.exit(any("error" in found for found in result["found"].values()))


if __name__ == "__main__":
    main()
