"""Episodes/s that one Redis and one trainer take in, and what they cost.

    .venv/bin/python bench/fleet/intake.py [--games connect4 beastybar] [--seconds 20] [--no-record]

Recorded games with fresh ids go through real buses in processes of their own to a real trainer
process, which checks, logs and fsyncs each; it makes no training steps. Two phases per game:
`drained` is a backlog that was sent while the trainer was stopped, taken in while nobody sends;
`sustained` is the throughput while senders flood it on the same cores.
"""

import argparse
import multiprocessing
import secrets
import signal
import sys
import time
from contextlib import ExitStack, closing

from parts import MIB, NEVER_TRAINS, RUN, Bench, compare_ids, logged_ids, record, recorded_games

from zerofleet.bus import BusFull, Delivery, Sender
from zerofleet.bus.redis import RedisBus
from zerofleet.config import FleetConfig
from zerofleet.fleet.facts import FleetFacts

GOAL_PER_S = 5000
GAMES_PER_S = {"largest published plan": 61, "four times that": 244, "one H200": 1313}
"""Of which the memory of an hour's backlog is reported."""
NUM_SENDERS = 2
BATCH = 256
BACKLOG = 60_000
"""Games of the drained phase."""
FLOOD_BYTES = 8 * MIB
"""Waits in Redis while senders flood the trainer: they wait for it then, as workers do."""
PAUSE_S = 0.02
SETTLE_S = 3.0
SETTINGS = (*NEVER_TRAINS, "replay.capacity_rows=200000", "fleet.trainer_timeout_s=600")
"""The lease outlasts the trainer's pause."""


def send(address, game, run_id, sender, orders, answers):
    """A process that sends as many games, or for as many seconds, as it is asked."""
    games = recorded_games(game)
    with closing(RedisBus(address, RUN)) as bus:
        answers.put("ready")
        number = 0
        while (order := orders.get()) is not None:
            kind, amount, max_bytes = order
            end_s = time.monotonic() + (amount if kind == "seconds" else 3600)
            end = number + amount if kind == "games" else sys.maxsize
            while number < end and time.monotonic() < end_s:
                if bus.receipt(sender).room_bytes(max_bytes) <= 0:
                    time.sleep(PAUSE_S)
                    continue
                numbers = range(number, min(end, number + BATCH))
                deliveries = [
                    Delivery(
                        sender,
                        each,
                        games[each % len(games)].with_id(sender.incarnation, each).encode(),
                        run_id,
                    )
                    for each in numbers
                ]
                try:
                    bus.send_episodes(deliveries)
                except BusFull:
                    time.sleep(PAUSE_S)
                    continue
                number = numbers.stop
            answers.put(number)


class Senders:
    """Processes that send; `marks` is how many of their games the trainer has confirmed."""

    def __init__(self, bench, game, run_id, stack):
        spawn = multiprocessing.get_context("spawn")
        self.senders = [Sender(f"sender-{i}", secrets.randbits(64)) for i in range(NUM_SENDERS)]
        self._orders = [spawn.Queue() for _ in self.senders]
        self._answers = [spawn.Queue() for _ in self.senders]
        self._bus = stack.enter_context(bench.bus())
        for sender, orders, answers in zip(self.senders, self._orders, self._answers, strict=True):
            arguments = (bench.address, game, run_id, sender, orders, answers)
            process = spawn.Process(target=send, args=arguments, daemon=True)
            process.start()
            stack.callback(process.kill)
            bench.usage.watch("senders", process.pid)
        self.counts = self.ended()

    def order(self, kind, amount, max_bytes):
        for orders in self._orders:
            orders.put((kind, amount, max_bytes))

    def ended(self):
        """How many each has sent so far, once all have done what was ordered."""
        self.counts = [answers.get(timeout=600) for answers in self._answers]
        return self.counts

    def marks(self):
        return sum(self._bus.mark(sender) for sender in self.senders)

    def wait_until_marked(self):
        while self.marks() < sum(self.counts):
            time.sleep(PAUSE_S)

    def ids(self):
        return {
            (sender.incarnation, sequence)
            for sender, count in zip(self.senders, self.counts, strict=True)
            for sequence in range(count)
        }


class Meter:
    """Seconds, CPU seconds of roles and bytes through Redis since it was made."""

    def __init__(self, bench):
        self._bench = bench
        self._before = self._now()

    def _now(self):
        stats = self._bench.info("stats")
        return {
            "s": time.monotonic(),
            "in": stats["total_net_input_bytes"],
            "out": stats["total_net_output_bytes"],
            **{name: self._bench.usage.cpu_s(name) for name in ("redis", "trainer", "senders")},
        }

    def read(self):
        now = self._now()
        return {name: now[name] - before for name, before in self._before.items()}


def measure(game, seconds):
    with ExitStack() as stack:
        bench = stack.enter_context(Bench())
        trainer = bench.trainer(game, *SETTINGS)
        facts = FleetFacts.decode(bench.wait_for_trainer(), RUN)
        senders = Senders(bench, game, facts.run_id, stack)

        # A backlog, sent while the trainer is stopped, then taken in while nobody sends.
        trainer.signal(signal.SIGSTOP)
        memory_before = bench.info("memory")["used_memory"]
        filling = Meter(bench)
        senders.order("games", BACKLOG // NUM_SENDERS, FleetConfig().max_backlog_bytes)
        num_games = sum(senders.ended())
        filled = filling.read()
        in_redis = bench.info("memory")["used_memory"] - memory_before
        draining = Meter(bench)
        trainer.signal(signal.SIGCONT)
        senders.wait_until_marked()
        drained = draining.read()

        # A flood: what is confirmed while senders keep the queue full.
        before = senders.marks()
        senders.order("seconds", seconds + SETTLE_S, FLOOD_BYTES)
        time.sleep(SETTLE_S)
        first, flooding = senders.marks(), Meter(bench)
        time.sleep(seconds)
        last, flooded = senders.marks(), flooding.read()
        sent = sum(senders.ended()) - before
        senders.wait_until_marked()
        peaks = {name: bench.usage.peak_bytes(name) for name in bench.usage.names()}
        trainer.end()
        faults = compare_ids(senders.ids(), logged_ids(bench.run))
        episodes = recorded_games(game)
        encoded = sum(len(each.encode()) for each in episodes) / len(episodes)

    def micros(cpu_s, count):
        return 1e6 * cpu_s / count

    sustained = last - first
    return {
        "game": game,
        "games": sum(senders.counts),
        "drained_per_s": num_games / drained["s"],
        "sustained_per_s": sustained / flooded["s"],
        "sent_per_s": sent / (seconds + SETTLE_S),
        "episode_bytes": encoded,
        "wire_bytes": {
            "to Redis": filled["in"] / num_games,
            "from Redis": drained["out"] / num_games,
        },
        "redis_bytes": in_redis / num_games,
        "redis_bytes_per_hour": {
            name: 3600 * per_s * in_redis / num_games for name, per_s in GAMES_PER_S.items()
        },
        "cpu_us_per_game": {
            "sender": micros(filled["senders"], num_games),
            "redis, sending": micros(filled["redis"], num_games),
            "redis, taking in": micros(drained["redis"], num_games),
            "trainer": micros(drained["trainer"], num_games),
        },
        "peak_bytes": peaks,
        "faults": faults,
    }


def table_of(found):
    lines = [
        f"{'game':10} {'drained/s':>10} {'sustained/s':>12} {'bytes':>6} {'wire':>6} {'Redis':>6}"
        f"   {'CPU µs per game: sender':>23} {'Redis':>6} {'trainer':>8}   lost"
    ]
    for each in found:
        cpu = each["cpu_us_per_game"]
        in_redis = cpu["redis, sending"] + cpu["redis, taking in"]
        lines.append(
            f"{each['game']:10} {each['drained_per_s']:10,.0f} {each['sustained_per_s']:12,.0f} "
            f"{each['episode_bytes']:6.0f} {each['wire_bytes']['to Redis']:6.0f} "
            f"{each['redis_bytes']:6.0f}   {cpu['sender']:23.0f} {in_redis:6.0f} "
            f"{cpu['trainer']:8.0f}   {each['faults']['lost']}"
        )
    for each in found:
        hours = ", ".join(
            f"{size / MIB:,.0f} MiB at {GAMES_PER_S[name]:,} games/s"
            for name, size in each["redis_bytes_per_hour"].items()
        )
        peaks = ", ".join(f"{name} {size / MIB:,.0f}" for name, size in each["peak_bytes"].items())
        lines.append(f"{each['game']}: an hour's backlog is {hours}; peak MiB: {peaks}")
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", nargs="*", default=["beastybar", "connect4"])
    parser.add_argument("--seconds", type=float, default=20, help="of the flood, per game")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    found = [measure(game, arguments.seconds) for game in arguments.games]
    table = table_of(found)
    print("\n".join(table))
    slowest = min(min(each["drained_per_s"], each["sustained_per_s"]) for each in found)
    once = not any(count for each in found for count in each["faults"].values())
    reached = slowest >= GOAL_PER_S and once
    print(f"goal {GOAL_PER_S:,}/s, each game once: {'reached' if reached else 'missed'}")
    if not arguments.no_record:
        command = f"bench/fleet/intake.py --seconds {arguments.seconds:g}"
        record("fleet-intake", command, {"found": found, "reached": reached, "table": table})
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
