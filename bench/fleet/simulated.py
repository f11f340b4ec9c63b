"""A simulated fleet: 1,000 workers that replay recorded games, a real Redis and a real trainer.

    .venv/bin/python bench/fleet/simulated.py [--workers 1000] [--minutes 10] [--no-record]

A worker is its real bus and outbox, each with its own threads, connections, spool, stream and mark,
and heartbeats as a role sends them; only its games come from a recording, at random times, and it
loads no weights (weights.py measures that). Workers share a few processes, and their spools lie in
memory, since each would have a disk of its own. The trainer checks, logs and fsyncs every game and
makes no training steps. In the middle Redis is killed and started again.

Checked: the ids that were sent are the ids in the log, each once; no role's memory grows; and in no
second return more than three times the workers, or connections, of the mean second until all are
back.
"""

import argparse
import heapq
import multiprocessing
import random
import secrets
import statistics
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, suppress
from pathlib import Path

from parts import (
    MIB,
    NEVER_TRAINS,
    RUN,
    Bench,
    compare_ids,
    logged_ids,
    record,
    recorded_games,
)

from zerofleet.bus import BusFull, BusUnreachable, RoleEntry, Sender
from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.role import HEARTBEAT_S
from zerofleet.selfplay.outbox import SpooledOutbox

GAME = "connect4"
GAMES_PER_S = 0.25
"""Of each worker."""
NUM_PROCESSES = 8
SWITCH_S = 0.1
"""Hundreds of threads share each process's GIL: one that waits for it asks so often."""
SETTINGS = (*NEVER_TRAINS, "replay.capacity_rows=200000")
DOWN_S = 5.0
LOOK_S = 0.05
CLOSE_S = 120.0
START_S = 300.0
MAX_TIMES_MEAN = 3.0
MAX_GROWTH = 1.10
"""Of the mean memory of the last quarter over that of the second."""


class SimulatedWorker:
    def __init__(self, number, address, facts, config, game, root):
        self.bus = RedisBus(address, RUN)
        self.sender = Sender(f"worker-{number}", secrets.randbits(64))
        self.outbox = SpooledOutbox(
            self.bus,
            self.sender,
            facts.run_id,
            game,
            config,
            Path(root) / str(number),
            say=lambda text: None,
            on_fault=self._fail,
        )
        self.faults = []
        self.num_games = self.num_waits = 0
        self.was_up, self.returns = True, []
        self._started = time.time()
        self.outbox.start()

    def _fail(self, fault):
        self.faults.append(repr(fault))

    def play(self, games):
        """Finishes a game, unless it must wait."""
        if self.outbox.why_paused:
            self.num_waits += 1
            return
        episode = games[self.num_games % len(games)]
        self.outbox.send([episode.with_id(self.sender.incarnation, self.num_games).encode()])
        self.num_games += 1

    def beat(self):
        entry = RoleEntry(
            self.sender.worker,
            "worker",
            "simulated",
            "cpu",
            program="simulated",
            started=self._started,
            doing=self.outbox.why_paused or "plays",
            counters=self.outbox.values(),
        )
        with suppress(BusUnreachable, BusFull):
            self.bus.register(entry)

    def look(self):
        """Notes when its connection came back."""
        is_up = self.bus.reachable
        if is_up and not self.was_up:
            self.returns.append(time.monotonic())
        self.was_up = is_up

    def close(self):
        num_left = self.outbox.close(CLOSE_S)
        values = self.outbox.values()
        self.bus.close()
        return {
            "incarnation": self.sender.incarnation,
            "games": self.num_games,
            "waits": self.num_waits,
            "resent": values["resent"],
            "left": num_left,
            "returns": self.returns,
            "faults": self.faults,
        }


def at_random_times(workers, mean_s, act, ending):
    """Calls each worker again and again, after pauses with this mean."""
    due = [(time.monotonic() + random.expovariate(1 / mean_s), i) for i in range(len(workers))]
    heapq.heapify(due)
    while not ending.is_set():
        at_s, i = due[0]
        if (left_s := at_s - time.monotonic()) > 0:
            ending.wait(min(left_s, LOOK_S))
            continue
        act(workers[i])
        heapq.heapreplace(
            due, (max(at_s, time.monotonic() - 1) + random.expovariate(1 / mean_s), i)
        )


def simulate(address, facts_data, numbers, root, begin, ending, pipe):
    """A process with several workers; sends what each has done."""
    sys.setswitchinterval(SWITCH_S)
    facts = FleetFacts.decode(facts_data, RUN)
    config, game = facts.config(), facts.played(None)
    games = recorded_games(GAME)
    workers = [SimulatedWorker(each, address, facts, config, game, root) for each in numbers]
    pipe.send("ready")
    begin.wait()
    local_ending = threading.Event()
    threads = [
        threading.Thread(target=at_random_times, args=(workers, mean_s, act, local_ending))
        for mean_s, act in (
            (1 / GAMES_PER_S, lambda worker: worker.play(games)),
            (HEARTBEAT_S, SimulatedWorker.beat),
        )
    ]
    for thread in threads:
        thread.start()
    while not ending.is_set():
        for worker in workers:
            worker.look()
        time.sleep(LOOK_S)
    local_ending.set()
    for thread in threads:
        thread.join()
    with ThreadPoolExecutor(len(workers)) as pool:
        pipe.send(list(pool.map(SimulatedWorker.close, workers)))


class RedisWatch:
    """What Redis reports, sampled: connections, commands, bytes, memory."""

    NAMES = (
        "total_connections_received",
        "total_commands_processed",
        "total_net_input_bytes",
        "total_net_output_bytes",
        "connected_clients",
        "used_memory",
    )

    def __init__(self, address):
        self._address = address
        self.samples = []
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def close(self):
        self._ended.set()
        self._thread.join()

    def _run(self):
        with closing(self._address.client()) as client:
            while not self._ended.wait(2 * LOOK_S):
                with suppress(Exception):  # of whatever kind while it is away
                    info = client.info("stats", "clients", "memory")
                    values = {name: info[name] for name in self.NAMES}
                    self.samples.append((time.monotonic(), values))

    def rates(self, first_s, end_s):
        """Per second, between two times."""
        inside = [each for each in self.samples if first_s <= each[0] <= end_s]
        (start_s, before), (stop_s, after) = inside[0], inside[-1]
        return {
            name: (after[name] - before[name]) / (stop_s - start_s)
            for name in self.NAMES
            if name.startswith("total")
        }

    def connection_times(self, start_s, end_s):
        """When connections were accepted since a restart."""
        times, before = [], 0
        for at_s, values in self.samples:
            if start_s <= at_s <= end_s:
                count = values["total_connections_received"]
                times += [at_s] * (count - before)
                before = count
        return times


def busiest_second(times):
    """The largest number within a second, and how often the mean over the whole period that is."""
    times = sorted(times)
    most, end = 0, 0
    for i, at_s in enumerate(times):
        while end < len(times) and times[end] < at_s + 1:
            end += 1
        most = max(most, end - i)
    period_s = max(1.0, times[-1] - times[0])
    return {"most": most, "period_s": period_s, "times_mean": most * period_s / len(times)}


def run(num_workers, minutes):
    spawn = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        bench = stack.enter_context(Bench())
        in_memory = "/dev/shm" if Path("/dev/shm").is_dir() else None
        root = stack.enter_context(tempfile.TemporaryDirectory(dir=in_memory))
        bench.trainer(GAME, *SETTINGS)
        facts_data = bench.wait_for_trainer()
        begin, ending, pipes = spawn.Event(), spawn.Event(), []
        for part in range(NUM_PROCESSES):
            pipe, theirs = spawn.Pipe()
            numbers = range(part, num_workers, NUM_PROCESSES)
            arguments = (bench.address, facts_data, numbers, root, begin, ending, theirs)
            process = spawn.Process(target=simulate, args=arguments, daemon=True)
            process.start()
            stack.callback(process.kill)
            bench.usage.watch("workers", process.pid)
            pipes.append(pipe)
        for pipe in pipes:
            assert pipe.poll(START_S), "the workers did not connect"
            pipe.recv()
        watch = RedisWatch(bench.address)
        stack.callback(watch.close)
        roles = ("redis", "trainer", "workers")
        start_s, cpu_before = time.monotonic(), {name: bench.usage.cpu_s(name) for name in roles}
        begin.set()
        time.sleep(minutes * 30)

        # The middle: Redis is killed, and started again a little later.
        half_s, cpu_half = time.monotonic(), {name: bench.usage.cpu_s(name) for name in roles}
        bench["redis"].kill()
        time.sleep(DOWN_S)
        bench.start_redis()
        back_s = time.monotonic()
        time.sleep(max(0.0, start_s + 60 * minutes - time.monotonic()))

        ending.set()
        end_s = time.monotonic()
        done = []
        for pipe in pipes:
            assert pipe.poll(2 * CLOSE_S), "the workers did not end"
            done += pipe.recv()
        watch.close()
        memory = {name: bench.usage.memory[name] for name in roles}
        peaks = {name: bench.usage.peak_bytes(name) for name in roles}
        bench["trainer"].end()
        logged = logged_ids(bench.run)

    sent = {(each["incarnation"], i) for each in done for i in range(each["games"])}
    returns = [at_s for each in done for at_s in each["returns"] if at_s >= back_s - DOWN_S]
    accepted = watch.connection_times(back_s - 1, max(returns, default=end_s) + 1)
    rates = watch.rates(start_s + 0.2 * (half_s - start_s), half_s)
    return {
        "workers": num_workers,
        "minutes": minutes,
        "games": len(sent),
        "games_per_s": len(sent) / (end_s - start_s),
        "ids": compare_ids(sent, logged),
        "left_in_spools": sum(each["left"] for each in done),
        "resent": sum(each["resent"] for each in done),
        "waits": sum(each["waits"] for each in done),
        "faults": [fault for each in done for fault in each["faults"]],
        "connections": max(values["connected_clients"] for _, values in watch.samples),
        "workers_returned": busiest_second(returns) | {"number": len(returns)},
        "connections_accepted": busiest_second(accepted) | {"number": len(accepted)},
        "redis_per_s": rates,
        "redis_used_memory": max(values["used_memory"] for _, values in watch.samples),
        "cpu_share": {
            name: (cpu_half[name] - cpu_before[name]) / (half_s - start_s) for name in roles
        },
        "peak_bytes": peaks,
        "growth": {name: growth(each, start_s, end_s) for name, each in memory.items()},
    }


def growth(samples, start_s, end_s):
    """Mean memory of the last quarter of a time over that of the second."""
    quarters = [[], [], [], []]
    for at_s, value in samples:
        if start_s <= at_s < end_s:
            quarters[int(4 * (at_s - start_s) / (end_s - start_s))].append(value)
    return statistics.mean(quarters[3]) / statistics.mean(quarters[1])


def table_of(found):
    cpu, peaks, rates = found["cpu_share"], found["peak_bytes"], found["redis_per_s"]
    returned, accepted = found["workers_returned"], found["connections_accepted"]
    return [
        f"{found['workers']:,} workers, {found['minutes']:g} min: {found['games']:,} games, "
        f"{found['games_per_s']:.0f}/s; "
        + ", ".join(f"{name} {count}" for name, count in found["ids"].items())
        + f"; {found['resent']:,.0f} sent again, {found['left_in_spools']} left in spools",
        f"Redis: {found['connections']:,} connections, "
        f"{rates['total_commands_processed']:,.0f} commands/s, "
        f"{rates['total_net_input_bytes'] / 1e3:,.0f} kB/s in, "
        f"{rates['total_net_output_bytes'] / 1e3:,.0f} kB/s out",
        "cores: " + ", ".join(f"{name} {share:.2f}" for name, share in cpu.items()),
        "peak MiB: "
        + ", ".join(f"{name} {size / MIB:,.0f}" for name, size in peaks.items())
        + "; growth: "
        + ", ".join(f"{name} {times:.2f}" for name, times in found["growth"].items()),
        f"after the restart {returned['number']:,} workers returned within "
        f"{returned['period_s']:.1f} s, at most {returned['most']} in a second "
        f"({returned['times_mean']:.1f} times the mean); {accepted['number']:,} connections, at "
        f"most {accepted['most']} in a second ({accepted['times_mean']:.1f} times)",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--workers", type=int, default=1000)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = run(arguments.workers, arguments.minutes)
    checks = {
        "nothing lost": not (any(found["ids"].values()) or found["left_in_spools"]),
        "no fault": not found["faults"],
        "memory bounded": max(found["growth"].values()) <= MAX_GROWTH,
        "all returned": found["workers_returned"]["number"] >= arguments.workers,
        "no stampede": max(
            found[what]["times_mean"] for what in ("workers_returned", "connections_accepted")
        )
        <= MAX_TIMES_MEAN,
    }
    table = table_of(found)
    table.append("; ".join(f"{name}: {'yes' if ok else 'NO'}" for name, ok in checks.items()))
    print("\n".join(table))
    if found["faults"]:
        print(found["faults"][0])
    if not arguments.no_record:
        command = "bench/fleet/simulated.py"
        command += f" --workers {arguments.workers} --minutes {arguments.minutes:g}"
        record("fleet-simulated", command, found | {"checks": checks, "table": table})
    return 0 if all(checks.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
