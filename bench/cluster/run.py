"""Inference servers on this machine: games/s through one, its latency, what its wire takes, and
how much of bare inference a server reaches that is fed by all other cores.

    .venv/bin/python bench/cluster/run.py [--only games latency wire fed] [--seconds 20]
    zerofleet bench cluster --device cuda --cores 16

Goals: games/s at least 0.9 of a worker's own evaluator; 1 M rows/s of Beasty Bar with a network
that costs nothing, on four cores; a GPU fed by 15 cores at 0.85 of bare inference.
"""

import argparse
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from fed import fed
from games import MAX_OTHER_CORES, compare
from recording import record
from wire import added_latency, throughput

LOAD = 0.8
"""Of a server's throughput, at which its latency is measured."""
FED_BATCH_ROWS = 1024
"""Of a server that is fed, as in self-play on a GPU, and of the bare inference beside it."""


def measure_games(arguments, cores):
    found = []
    for each in arguments.presets:
        game, _, preset = each.partition("/")
        found.append(
            compare(
                game,
                preset,
                cores,
                arguments.device,
                arguments.minutes,
                arguments.seconds,
                arguments.others,
                arguments.settings,
            )
        )
    table = [
        f"{each['preset']:18} own {each['games_per_s']['own']:8.2f}  remote "
        f"{each['games_per_s']['remote']:8.2f} games/s  ratio {each['ratio']:.3f} "
        f"({each['interval'][0]:.3f}-{each['interval'][1]:.3f}, "
        f"{len(each['blocks'])} blocks)  goal 0.9"
        for each in found
    ]
    return found, table


def measure_latency(arguments, cores):
    found = [
        added_latency(game, network, num_rows, arguments.seconds, LOAD, arguments.device)
        for game, network, num_rows in (("connect4", "tiny", 64), ("beastybar", "tiny", 128))
    ]
    table = [
        f"{each['game']:10} {each['rows_per_request']:4} rows  bare p50 "
        f"{each['bare_p50_s'] * 1000:6.2f} ms  at {each['share']:.0%} p50 "
        f"{each['p50_s'] * 1000:6.2f}  p99 {each['p99_s'] * 1000:6.2f}  added p99 "
        f"{each['added_p99_s'] * 1000:6.2f} ms"
        for each in found
    ]
    return found, table


def measure_wire(arguments, cores):
    num_workers = max(1, len(cores) - 1)
    found = [
        throughput(game, num_workers, num_rows, arguments.seconds, encrypted)
        for game in arguments.wire_games
        for num_rows in (128, 1024)
        for encrypted in (False, True)
    ]
    table = [
        f"{each['game']:10} {each['workers']} workers  {each['rows_per_request']:4} rows "
        f"{'CURVE' if each['encrypted'] else 'plain'}  {each['requests_per_s']:8,.0f} requests/s  "
        f"{each['rows_per_s']:10,.0f} rows/s"
        for each in found
    ]
    return found, table


def measure_fed(arguments, cores):
    name, _, preset = arguments.fed_preset.partition("/")
    num_workers = max(1, len(cores) - 1)
    found = [
        fed(
            name, preset, num_workers, num_rows, FED_BATCH_ROWS, arguments.seconds, arguments.device
        )
        for num_rows in arguments.fed_rows
    ]
    table = [
        f"{each['network']} on {each['device']}  {each['workers']} workers  "
        f"{each['rows_per_request']:4} rows  "
        f"{each['rows_per_s']:10,.0f} of {each['bare_rows_per_s']:10,.0f} rows/s  ratio "
        f"{each['over_bare']:.3f}  goal 0.85  p99 {each['latency_s']['p99'] * 1000:.1f} ms"
        for each in found
    ]
    return found, table


MEASUREMENTS = {
    "games": measure_games,
    "latency": measure_latency,
    "wire": measure_wire,
    "fed": measure_fed,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="*", choices=MEASUREMENTS, default=list(MEASUREMENTS))
    parser.add_argument("--seconds", type=float, default=20, help="of each measurement or leg")
    parser.add_argument("--minutes", type=float, default=5, help="of games, for each preset")
    parser.add_argument(
        "--others", type=float, default=MAX_OTHER_CORES, help="most cores of other programs, games"
    )
    parser.add_argument("--device", default="cpu", help="cpu, cuda or cuda:1")
    parser.add_argument("--cores", type=int, default=0, help="to use; 0: all of the machine")
    parser.add_argument("--presets", nargs="*", default=["connect4/fast"])
    parser.add_argument("--wire-games", nargs="*", default=["beastybar", "gomoku"])
    parser.add_argument("--fed-preset", default="beastybar/published_run", help="whose network")
    parser.add_argument("--fed-rows", type=int, nargs="*", default=[128, 256], help="of a request")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="of the run")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    all_cores = sorted(os.sched_getaffinity(0))
    cores = set(all_cores[: arguments.cores or len(all_cores)])
    os.sched_setaffinity(0, cores)
    found, table = {}, []
    for name in arguments.only:
        found[name], lines = MEASUREMENTS[name](arguments, cores)
        print("\n".join(lines), flush=True)
        table += lines
    if not arguments.no_record:
        command = "bench/cluster/run.py " + " ".join(sys.argv[1:])
        record("cluster", command.strip(), {"found": found, "table": table})


if __name__ == "__main__":
    main()
