"""A soak: the whole fleet with random kills of every role, against the same fleet without kills.

    .venv/bin/python bench/fleet/soak.py [--minutes 20] [--match-games 400] [--no-record]

Each fleet has a Redis, a trainer, a worker and a rater. Both run at the same time, so that they
share the machine alike. In one of them a role is killed (SIGKILL) every few seconds and started
again at once. Checked: the ids that were spooled are the ids in the log, each once; the memory of
every role is flat after the first minutes; and the weights of both after equally many games play a
match that the killed fleet does not lose.
"""

import argparse
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

from parts import (
    MIB,
    RUN,
    Bench,
    SpoolWatch,
    compare_ids,
    logged_ids,
    record,
    slope_per_minute,
    spooled_ids,
)

import zerofleet as zf
from zerofleet import metrics

GAME = "connect4"
SETTINGS = (
    "replay.capacity_rows=60000",  # full within the first minutes, and so is the next
    "selfplay.cache_bytes=16777216",
    "train.schedule=constant",
    "train.checkpoint_every_minutes=0.5",
    "train.keep_all_weights=true",
    "rating.interval_minutes=0.5",  # often, so that what a rating leaves behind is seen soon
    "rating.games=20",
    "rating.opponents=[heuristic]",
    "rating.final_games=0",
    "fleet.trainer_timeout_s=5",
    "fleet.block_lease_s=60",
)
ROLES = ("redis", "trainer", "worker", "rater")
KILL_AFTER_S = (8.0, 20.0)
"""Bounds of the time between two kills."""
CALM_AT_END_S = 45.0
"""Without kills, so that all roles are up when they are asked to end."""
SETTLE_MINUTES = 5.0
MAX_GROWTH_PER_HOUR = 0.05
MATCH_SIMULATIONS = 32
SEED = 1


class SoakedFleet:
    def __init__(self, stack):
        self.bench = stack.enter_context(Bench())
        self.watch = SpoolWatch(self.bench.folder / "spool")
        stack.callback(self.watch.close)
        self.kills = dict.fromkeys(ROLES, 0)
        self.faults = []
        self._starts = {
            "redis": self.bench.start_redis,
            "trainer": lambda: self.bench.trainer(GAME, *SETTINGS),
            "worker": lambda: self.bench.role(
                "worker", "worker", "--run", RUN, "--worker-id", "worker", "--processes", "1"
            ),
            "rater": lambda: self.bench.role("rater", "rater", "--run", RUN, "--rater-id", "rater"),
        }
        self._starts["trainer"]()
        self.bench.wait_for_trainer()
        for name in ("worker", "rater"):
            self._starts[name]()

    def live(self, minutes, kills):
        """Until the time is over; starts again whatever was killed or has ended by itself."""
        chance = random.Random(SEED)
        order = []
        end_s = time.monotonic() + 60 * minutes
        kill_at_s = time.monotonic() + chance.uniform(*KILL_AFTER_S)
        while time.monotonic() < end_s:
            for name in ROLES:
                if (status := self.bench[name].exit_status) is not None:
                    self.faults.append(f"{name} ended with status {status}: {self._last(name)}")
                    self._starts[name]()
            if kills and kill_at_s <= time.monotonic() < end_s - CALM_AT_END_S:
                order = order or chance.sample(ROLES, len(ROLES))
                name = order.pop()
                self.bench[name].kill()
                self._starts[name]()
                self.kills[name] += 1
                kill_at_s = time.monotonic() + chance.uniform(*KILL_AFTER_S)
            time.sleep(0.2)

    def _last(self, name):
        return self.bench[name].output.read_text().strip().rpartition("\n")[2]

    def end(self):
        """The worker first, while the trainer confirms its games."""
        for name in ("worker", "rater", "trainer"):
            if status := self.bench[name].end():
                self.faults.append(f"{name} ended with status {status}: {self._last(name)}")
        self.watch.close()


def soak(minutes, kills, keep):
    """What one fleet did. Its run is kept in the folder `keep`."""
    with ExitStack() as stack:
        fleet = SoakedFleet(stack)
        start_s = time.monotonic()
        fleet.live(minutes, kills)
        memory = {
            name: [each for each in samples if each[0] >= start_s]
            for name, samples in fleet.bench.usage.memory.items()
        }
        fleet.end()
        logged = logged_ids(fleet.bench.run)
        ids = compare_ids(spooled_ids(fleet.watch), logged)
        shutil.copytree(fleet.bench.run, keep)
    settled_s = start_s + 60 * min(SETTLE_MINUTES, minutes / 3)
    return {
        "kills": fleet.kills,
        "games": len(logged),
        "ids": ids | {"missed files": len(fleet.watch.missed)},
        "faults": fleet.faults,
        "memory": {name: memory_of(samples, settled_s) for name, samples in memory.items()},
    }


def memory_of(samples, settled_s):
    """Mean and peak bytes after a time, and bytes/min with a 95 % interval."""
    settled = [value for at_s, value in samples if at_s >= settled_s]
    mean, slope = statistics.mean(settled), slope_per_minute(samples, settled_s)
    grows = slope is not None and slope[1] > 0 and 60 * slope[0] > MAX_GROWTH_PER_HOUR * mean
    return {
        "mean": mean,
        "peak": max(settled),
        "slope_per_minute": slope,
        "flat": None if slope is None else not grows,
    }


def step_at(run, num_games):
    """The kept weights of a run that were trained on about so many games, by their step."""
    games_at = {}
    for each in metrics.read(run):
        if each["kind"] == "status":
            games_at[each["step"]] = each["games"]
    kept = [int(path.stem) for path in (run / "weights").glob("*.safetensors")]

    def distance(step):
        before = [games for at, games in games_at.items() if at <= step]
        return abs(max(before, default=0) - num_games)

    return min(kept, key=distance)


def table_of(found, match):
    lines = []
    for name in ("undisturbed", "killed"):
        each = found[name]
        kills = ", ".join(f"{role} {count}" for role, count in each["kills"].items())
        ids = ", ".join(f"{what} {count}" for what, count in each["ids"].items())
        lines.append(f"{name}: {each['games']:,} games; {ids}; kills: {kills}")
        for role, used in each["memory"].items():
            slope = used["slope_per_minute"]
            text = "too short for a slope"
            if slope is not None:
                text = "{:+.2f} MiB/min ({:+.2f} to {:+.2f})".format(*(x / MIB for x in slope))
            mean, peak = used["mean"] / MIB, used["peak"] / MIB
            lines.append(f"    {role:8} {mean:6.0f} MiB, peak {peak:6.0f}, {text}")
        lines += [f"    {fault}" for fault in each["faults"][:5]]
    low, high = match["interval"]
    lines.append(
        f"killed against undisturbed, after {match['games_of_each']:,} games each: "
        f"{match['score']:.1%} ({low:.1%} to {high:.1%}, {match['num_games']} games)"
    )
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=20, help="of each fleet")
    parser.add_argument("--match-games", type=int, default=400)
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZEROFLEET_RUNS"] = folder
        with ThreadPoolExecutor() as pool:
            fleets = {
                name: pool.submit(soak, arguments.minutes, name == "killed", Path(folder) / name)
                for name in ("undisturbed", "killed")
            }
            found = {name: fleet.result() for name, fleet in fleets.items()}
        num_games = min(each["games"] for each in found.values())
        players = [
            f"run:{name}@{step_at(Path(folder) / name, num_games)},sims={MATCH_SIMULATIONS}"
            for name in ("killed", "undisturbed")
        ]
        played = zf.arena.match(GAME, *players, num_games=arguments.match_games, seed=SEED)
    match = {
        "players": players,
        "games_of_each": num_games,
        "num_games": played.num_games,
        "score": played.score,
        "interval": played.interval,
    }
    both = found.values()
    checks = {
        "each game once": not any(count for each in both for count in each["ids"].values()),
        "no other fault": not any(each["faults"] for each in both),
        "every role killed": all(found["killed"]["kills"].values()),
        "memory flat": all(used["flat"] for each in both for used in each["memory"].values()),
        "no weaker": played.interval[1] >= 0.5,
    }
    table = table_of(found, match)
    table.append("; ".join(f"{name}: {'yes' if ok else 'NO'}" for name, ok in checks.items()))
    print("\n".join(table))
    if not arguments.no_record:
        command = f"bench/fleet/soak.py --minutes {arguments.minutes:g}"
        record("fleet-soak", command, found | {"match": match, "checks": checks, "table": table})
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
