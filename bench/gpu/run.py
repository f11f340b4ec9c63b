"""What one GPU machine does: inference, self-play, search and training, each measured by itself,
and self-play with training beside it.

    zerofleet bench gpu [--seconds 10] [--only 'check *' 'selfplay beastybar large*'] [--list]
    zerofleet bench gpu --only goals --seconds 60

Each measurement has a name, and is written down as soon as it is over, so that a run that is cut
off leaves what it found. One that fails is written down with its error, and the run ends with 1.
Where the answers of the GPU differ too much from those of the plain network, that is a failure.
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
from gpu import fp8, inference, overlap, search, selfplay, training
from recording import facts, result_path

MEASUREMENTS = {
    **inference.MEASUREMENTS,
    **fp8.MEASUREMENTS,
    **selfplay.MEASUREMENTS,
    **search.MEASUREMENTS,
    **training.MEASUREMENTS,
    **overlap.MEASUREMENTS,
}
SELECTIONS = {
    "goals": [
        "selfplay beastybar large puct-200",
        "selfplay beastybar large gumbel-32",
        "selfplay beastybar cards-medium puct-200",
        "selfplay gomoku medium puct-400",
        "selfplay backgammon large puct-100",
        "bare beastybar large *",
        "search backgammon 100",
        "training beastybar large 16384",
        "overlap beastybar large puct-200",
    ]
}
"""What --only takes besides names: `goals` is all that the project's goals for a GPU are about."""


def short(value):
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def line_of(name, found):
    return f"{name:44} " + "  ".join(f"{key} {short(value)}" for key, value in found.items())


def names_of(only):
    """The measurements that are asked for, each once; ValueError where nothing is called so."""
    names = {}
    for pattern in (pattern for given in only for pattern in SELECTIONS.get(given, [given])):
        found = fnmatch.filter(MEASUREMENTS, pattern)
        if not found:
            raise ValueError(f"nothing is called {pattern}; see --list")
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
        help="measurements, * stands for anything; goals: those of the project's goals",
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
