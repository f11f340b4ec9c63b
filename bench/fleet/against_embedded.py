"""Games/s of worker and trainer over Redis, over those of the embedded loop with the same cores.

    .venv/bin/python bench/fleet/against_embedded.py [--seconds 60] [--rounds 1] [--no-record]
    .venv/bin/python bench/fleet/against_embedded.py --links none 1ms 20ms 100ms 20mbit
    .venv/bin/python bench/fleet/against_embedded.py --presets beastybar/h200_8min --mps

Legs alternate: embedded, fleet, fleet, embedded; with several links embedded, each link in turn,
and back. Behind a link the worker is a host of its own, and a relay delays each way, or the
bandwidth is bounded (needs root). With --mps there are also legs in which worker and trainer share
a GPU through NVIDIA MPS, not by turns. The cores are divided as `zerofleet fleet local` divides
them. Games/s count from the first training step.
"""

import argparse
import json
import math
import re
import statistics
import sys
from contextlib import ExitStack

from links import Link
from mps import Mps
from parts import RUN, Bench, record, sets, wait_for

from zerofleet import games
from zerofleet.arena.two_samples import t_quantile
from zerofleet.config import load
from zerofleet.fleet.local import divide

GOAL = 0.95
"""Of the embedded loop, set by the project. A published fleet measured 0.8 of its threaded form."""
SETTINGS = ["rating.interval_minutes=0", "rating.final_games=0"]
GRACE_S = 120
TIMES = ("search", "inference", "waiting_to_play", "training", "intake", "waiting_to_train")
"""Of a leg, summed over workers: who waits for whom."""


def embedded(bench, game, preset, seconds):
    command = ("train", game, "--preset", preset, "--run", RUN, "--minutes", str(seconds / 60))
    finish(bench.role("embedded", *command, *sets(SETTINGS)), seconds)
    return {}


def fleet(bench, game, preset, seconds, link=None, mps=False):
    """A trainer and workers as processes; with a link the workers are behind it, with MPS all of
    them use a GPU through it."""
    config = load(game, preset)
    cores = divide(config, games.get(config.game.name, **config.game.options), None)
    with ExitStack() as stack:
        way = None if link is None else stack.enter_context(Link(bench.port, **link))
        if mps:
            bench.environment |= stack.enter_context(Mps(bench.folder))
        settings = (*SETTINGS, f"stop.minutes={seconds / 60}")
        threads = cores.num_training_threads
        trainer = bench.trainer(game, *settings, preset=preset, num_threads=threads)
        for number in range(cores.num_workers):
            name = f"worker-{number}"
            worker = ("worker", "--run", RUN, "--processes", "1", "--worker-id", name)
            worker += ("--device", cores.devices[number % len(cores.devices)])
            worker += ("--threads", str(max(1, cores.num_search_threads)))
            stack.callback(bench.role(name, *worker, link=way).kill)
        finish(trainer, seconds)
    return {
        "used": {
            name: {
                "cpu_s": round(bench.usage.cpu_s(name), 1),
                "peak_mb": round(bench.usage.peak_bytes(name) / 1e6),
            }
            for name in bench.usage.names()
        }
    }


def finish(server, seconds):
    """Waits for the end of a run."""
    wait_for(
        lambda: server.exit_status is not None,
        "the end of the run",
        patience_s=seconds + GRACE_S,
    )
    if server.exit_status != 0:
        sys.exit(f"a run failed:\n{server.output.read_text()[-2000:]}")


def measured(leg, game, preset, seconds, **options):
    """Games/s, rows/s and steps/s of one leg, from the first training step to its end, and where
    the time went."""
    with Bench() as bench:
        extra = leg(bench, game, preset, seconds, **options)
        lines = (bench.run / "metrics.jsonl").read_text().splitlines()
    trained = [each for each in map(json.loads, lines) if each["kind"] == "status" and each["step"]]
    if len(trained) < 3:
        sys.exit(f"{game}/{preset}: no training within {seconds:g} s; use a larger --seconds")
    first, last = trained[0], trained[-1]
    wall_s = last["elapsed_s"] - first["elapsed_s"]

    def per_s(name):
        return (last[name] - first[name]) / wall_s

    rates = {f"{name}_per_s": per_s(name) for name in ("games", "rows", "step", "inferences")}
    shares = {name: per_s(f"{name}_s") for name in TIMES}
    return rates | {"seconds_per_s": shares} | extra


def compare(game, preset, seconds, rounds, ways):
    """Games/s of a fleet by each way over those of the embedded loop, with a 95 % interval. The
    legs of a round go through all of them and back."""
    legs = {None: []} | {name: [] for name in ways}
    for _ in range(rounds):
        for name in (*legs, *reversed(legs)):
            leg, options = (embedded, {}) if name is None else (fleet, ways[name])
            legs[name].append(measured(leg, game, preset, seconds, **options))
            figure = legs[name][-1]["games_per_s"]
            print(f"  {game}/{preset} {name or 'embedded':8} {figure:8.1f} games/s", flush=True)
    return [compared(f"{game}/{preset}", name, legs[name], legs[None]) for name in ways]


def compared(preset, name, fleet_legs, embedded_legs):
    both = [[each["games_per_s"] for each in legs] for legs in (fleet_legs, embedded_legs)]
    means = [statistics.mean(each) for each in both]
    ratio = means[0] / means[1]
    errors = [statistics.stdev(each) / mean for each, mean in zip(both, means, strict=True)]
    quantile = t_quantile(len(fleet_legs) + len(embedded_legs) - 2)
    half = quantile * ratio * math.hypot(*errors) / math.sqrt(len(fleet_legs))
    return {
        "preset": preset,
        "link": name,
        "embedded_games_per_s": means[1],
        "fleet_games_per_s": means[0],
        "ratio": ratio,
        "interval": [ratio - half, ratio + half],
        "legs": {"fleet": fleet_legs, "embedded": embedded_legs},
    }


def link_of(text):
    if text == "none":
        return None
    if match := re.fullmatch(r"(\d+)ms", text):
        return {"delay_s": int(match[1]) / 1000}
    if re.fullmatch(r"\d+mbit", text):
        return {"rate": text}
    sys.exit(f"--links {text}: a link is none, a delay such as 20ms or a bandwidth such as 20mbit")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60, help="of each leg")
    parser.add_argument("--rounds", type=int, default=1, help="of legs through all links and back")
    parser.add_argument("--presets", nargs="*", default=["beastybar/fast", "connect4/fast"])
    parser.add_argument("--links", nargs="+", default=["none"], help="such as 20ms or 20mbit")
    parser.add_argument("--mps", action="store_true", help="also with NVIDIA MPS, on one GPU")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    ways = {name: {"link": link_of(name)} for name in arguments.links}
    if arguments.mps:
        ways["mps"] = {"mps": True}
    found = []
    for preset in arguments.presets:
        game, _, size = preset.partition("/")
        found += compare(game, size, arguments.seconds, arguments.rounds, ways)
    table = [
        f"{'preset':16} {'link':8} {'embedded':>9} {'fleet':>9} {'ratio':>6}  95 %  goal {GOAL}"
    ]
    for each in found:
        low, high = each["interval"]
        table.append(
            f"{each['preset']:16} {each['link']:8} {each['embedded_games_per_s']:9.1f} "
            f"{each['fleet_games_per_s']:9.1f} {each['ratio']:6.3f}  {low:.3f}-{high:.3f}"
        )
    print("\n".join(table))
    if not arguments.no_record:
        command = "bench/fleet/against_embedded.py " + " ".join(sys.argv[1:])
        record("fleet", command.strip(), {"found": found, "table": table})


if __name__ == "__main__":
    main()
