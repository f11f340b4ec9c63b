"""Games/s of worker and trainer over Redis, over those of the embedded loop with the same cores.

    .venv/bin/python bench/fleet/against_embedded.py [--presets connect4/fast] [--minutes 5]
    .venv/bin/python bench/fleet/against_embedded.py --links none 1ms 20ms 100ms 20mbit
    .venv/bin/python bench/fleet/against_embedded.py --presets beastybar/h200_8min --links mps

Both runs are there all the time, and one of them is stopped while the other runs a leg (legs.py).
There are as many blocks of legs as fit into --minutes, which count from the start of the runs. A
leg during which other programs used more cores than --others is run again.

Behind a link such as 20ms or 20mbit the worker is a host of its own, and a relay delays each way,
or the bandwidth is bounded each way (needs root). With mps worker and trainer share a GPU through
NVIDIA MPS, else by turns. The cores are divided as `zerofleet fleet local` divides them.
"""

import argparse
import json
import re
import statistics
import sys
import time
from contextlib import ExitStack

from legs import MAX_OTHER_CORES, Side, alternate, ratio_of_pairs
from links import Link
from mps import BELOW_NORMAL, Mps
from parts import Bench, record, sets, wait_for

from zerofleet import games
from zerofleet.config import load
from zerofleet.fleet.local import divide

GOAL = 0.95
"""Of the embedded loop, set by the project. A published fleet measured 0.8 of its threaded form."""
EMBEDDED, FLEET = "embedded", "fleet"
SETTINGS = [
    *("rating.interval_minutes=0", "rating.final_games=0"),
    "stop.minutes=60",  # longer than any measurement
    "fleet.trainer_timeout_s=600",  # a trainer that is stopped for a leg is not away
]
PATIENCE_S = 300
"""For a run to start, to compile where it does, and to train."""
NUM_STATUSES = 3
"""With training steps, before a run is measured."""
SETTLED_S = 3.0
"""Of each leg before it is measured, by the statuses that the run writes every five seconds."""
TIMES = ("search", "inference", "waiting_to_play", "training", "intake", "waiting_to_train")
"""Of a leg, summed over workers: who waits for whom."""


class Run:
    """A run by what it writes of itself."""

    def __init__(self, bench, side, name):
        self.name, self.side = name, side
        self._metrics = bench.folder / "runs" / name / "metrics.jsonl"

    def wait_until_it_trains(self):
        def trains():
            self.side.refuse_ended()
            return len(self._statuses()) >= NUM_STATUSES

        wait_for(trains, f"training of {self.name}", patience_s=PATIENCE_S)
        self.side.stop()

    def leg(self, seconds):
        """Per second, where the time went, and what other programs used."""
        start_s = time.time()
        with self.side.running() as others:
            time.sleep(seconds)
        measured = [each for each in self._statuses() if each["time"] >= start_s + SETTLED_S]
        if len(measured) < 2:
            sys.exit(f"{len(measured)} statuses in a leg of {seconds:g} s; use a larger --seconds")
        first, last = measured[0], measured[-1]
        wall_s = last["time"] - first["time"]

        def per_s(name):
            return (last[name] - first[name]) / wall_s

        return {
            **{f"{name}_per_s": per_s(name) for name in ("games", "rows", "step", "inferences")},
            "seconds_per_s": {name: per_s(f"{name}_s") for name in TIMES},
            "measured_s": wall_s,
            "other_cores": others.cores,
        }

    def _statuses(self):
        lines = self._metrics.read_text().splitlines() if self._metrics.exists() else []
        statuses = [each for each in map(json.loads, lines) if each["kind"] == "status"]
        return [each for each in statuses if each["step"]]


# ---- the two runs


def start_embedded(run, game, preset):
    options = ("--preset", preset, "--run", run.name, "--no-dash")
    run.side.role("embedded", "train", game, *options, *sets(SETTINGS))
    run.wait_until_it_trains()


def start_fleet(run, game, preset, link, environment):
    """A trainer and workers as processes; with a link the workers are behind it."""
    config = load(game, preset)
    cores = divide(config, games.get(config.game.name, **config.game.options), None)
    options = ("--preset", preset, "--run", run.name, "--threads", str(cores.num_training_threads))
    of_trainer = environment and environment | BELOW_NORMAL
    run.side.role("trainer", "trainer", game, *options, *sets(SETTINGS), environment=of_trainer)
    for number in range(cores.num_workers):
        name = f"worker-{number}"
        worker = ("worker", "--run", run.name, "--processes", "1", "--worker-id", name)
        worker += ("--device", cores.devices[number % len(cores.devices)])
        worker += ("--threads", str(max(1, cores.num_search_threads)))
        run.side.role(name, *worker, link=link, environment=environment)
    run.wait_until_it_trains()


# ---- comparing them


def compare(preset, name, minutes, seconds, max_other_cores):
    """Legs of both by this link, their ratio by blocks, and its 95 % interval."""
    end_s = time.monotonic() + minutes * 60
    game, _, size = preset.partition("/")
    way = way_of(name)
    with ExitStack() as stack:
        bench = stack.enter_context(Bench())
        environment = stack.enter_context(Mps(bench.folder)) if way.pop("mps", False) else {}
        link = stack.enter_context(Link(bench.address, **way)) if way else None
        sides = {name: stack.enter_context(Side(bench)) for name in (EMBEDDED, FLEET)}
        runs = {name: Run(bench, side, name) for name, side in sides.items()}
        start_embedded(runs[EMBEDDED], game, size)
        start_fleet(runs[FLEET], game, size, link, environment)

        def show(side, leg):
            print(
                f"  {preset} {name:6} {side:8} {leg['games_per_s']:8.1f} games/s  "
                f"other programs {leg['other_cores']:.2f} cores",
                flush=True,
            )

        legs = alternate(runs, seconds, end_s, max_other_cores, show)
        used = used_by(bench.usage)
    per_s = {side: [leg["games_per_s"] for leg in found] for side, found in legs.items()}
    ratio, interval, ratios = ratio_of_pairs(per_s[FLEET], per_s[EMBEDDED])
    return {
        "preset": preset,
        "link": name,
        "embedded_games_per_s": statistics.mean(per_s[EMBEDDED]),
        "fleet_games_per_s": statistics.mean(per_s[FLEET]),
        "ratio": ratio,
        "interval": interval,
        "blocks": ratios,
        "legs": legs,
        "used": used,
    }


def used_by(usage):
    return {
        name: {
            "cpu_s": round(usage.cpu_s(name), 1),
            "peak_mb": round(usage.peak_bytes(name) / 1e6),
        }
        for name in usage.names()
    }


def way_of(text):
    """What lies between worker and Redis, or processes and GPU."""
    if text == "none":
        return {}
    if text == "mps":
        return {"mps": True}
    if match := re.fullmatch(r"(\d+)ms", text):
        return {"delay_s": int(match[1]) / 1000}
    if re.fullmatch(r"\d+mbit", text):
        return {"rate": text}
    sys.exit(
        f"--links {text}: a link is none, mps, a delay such as 20ms or a bandwidth such as 20mbit"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--presets", nargs="+", default=["beastybar/fast", "connect4/fast"])
    parser.add_argument("--links", nargs="+", default=["none"], help="such as 20ms, 20mbit or mps")
    parser.add_argument("--minutes", type=float, default=5, help="of each preset by each link")
    parser.add_argument("--seconds", type=float, default=16, help="of each leg")
    parser.add_argument(
        "--others", type=float, default=MAX_OTHER_CORES, help="most cores of other programs"
    )
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    for link in arguments.links:
        way_of(link)
    found = [
        compare(preset, link, arguments.minutes, arguments.seconds, arguments.others)
        for preset in arguments.presets
        for link in arguments.links
    ]
    table = [
        f"{'preset':16} {'link':8} {'embedded':>9} {'fleet':>9} {'ratio':>6}  95 %         "
        f"blocks  goal {GOAL}"
    ]
    for each in found:
        low, high = each["interval"]
        table.append(
            f"{each['preset']:16} {each['link']:8} {each['embedded_games_per_s']:9.1f} "
            f"{each['fleet_games_per_s']:9.1f} {each['ratio']:6.3f}  {low:.3f}-{high:.3f}  "
            f"{len(each['blocks']):6}"
        )
    print("\n".join(table))
    if not arguments.no_record:
        command = "bench/fleet/against_embedded.py " + " ".join(sys.argv[1:])
        record("fleet", command.strip(), {"found": found, "table": table})


if __name__ == "__main__":
    main()
