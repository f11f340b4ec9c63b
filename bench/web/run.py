"""What the dashboard costs: paging through many games, and training while many people watch.

    .venv/bin/python bench/web/run.py [episodes] [viewers] [--no-record]
    .venv/bin/python bench/web/run.py viewers --legs 12 --seconds 60 --viewers 200

episodes: a run with 50,000 games in its log. A fresh server answers the first page, then pages in
every order once its index is built; times are those of whole requests.

viewers: a run trains, with its dashboard, on one core. In every other leg, in the order off, on,
on, off, people watch it: each loads the run page's data and then listens to its live connection.
Their processes are on another core. Throughput is that of the run's own counters, per second, and
per second of processor time of the training process, which holds the server too; and there is the
share of the core that serving takes, by the times of its threads. Other programs on the machine
change the first, and the second where they leave training little; they do not change the third.
"""

import argparse
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

import zerofleet as zf
from zerofleet import config
from zerofleet.arena.two_samples import t_quantile
from zerofleet.games import Episode
from zerofleet.replay.log import EpisodeLog
from zerofleet.replay.segment import Entry
from zerofleet.runs.folder import create_or_open
from zerofleet.web.server import Server

sys.path.insert(0, str(Path(__file__).parents[1]))
from recording import record

MAX_PAGE_S = 1.0
"""The goal: a page of a list of 50,000 games."""
MIN_RATIO = 0.97
"""The goal: training throughput with 200 viewers over that without."""
NUM_DISTINCT = 500
"""Games that are played; the log repeats them under other ids."""
ORDERS = ("newest", "longest", "surprising", "upset")
COUNTERS = ("samples", "simulations")
SETTINGS = ["rating.interval_minutes=0", "rating.final_games=0", "rating.opponents=[]"]
BUSY_SHARE = 0.1
"""Of the processor time of training; threads that use more play and train."""
LOOK_S = 0.1
"""Between two looks at the processor time of training."""
ZEROFLEET = Path(sys.executable).parent / "zerofleet"


# ---- paging


def write_log(num_games):
    """A run whose log has so many games."""
    game = zf.games.get("connect4")
    played = [
        Episode.decode(data)
        for data in zf.selfplay.play(
            game, "playout", num_episodes=NUM_DISTINCT, num_simulations=16, seed=1
        )
    ]
    with create_or_open("many", config.load("connect4", "fast")) as run:
        log = EpisodeLog(run.episodes, game, config.load("connect4", "fast").replay)
        for first in range(0, num_games, 1000):
            log.append(
                [
                    Entry(
                        played[number % NUM_DISTINCT].with_id(1, number).encode(),
                        1,
                        number,
                        len(played[number % NUM_DISTINCT].events),
                    )
                    for number in range(first, min(first + 1000, num_games))
                ]
            )
        log.close()


def asked(client, path):
    """The answer to a request and the seconds that it took."""
    start = time.perf_counter()
    client.request("GET", path)
    answer = json.loads(client.getresponse().read())
    return answer, time.perf_counter() - start


def measure_episodes(num_games):
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZEROFLEET_RUNS"] = folder
        write_log(num_games)
        server = Server(port=0)
        server.start()
        client = HTTPConnection("127.0.0.1", server.port)
        path = "/api/v1/runs/many/episodes?limit=50"
        while True:  # the server's thread may not listen yet
            try:
                asked(client, "/api/v1/games")
                break
            except OSError:
                time.sleep(0.05)
        begun = time.perf_counter()
        first, first_s = asked(client, path)
        while not asked(client, path)[0]["is_complete"]:
            time.sleep(0.2)
        index_s = time.perf_counter() - begun
        pages = {}
        for order in ORDERS:
            for offset in (0, num_games // 2, num_games - 50):
                page, page_s = asked(client, f"{path}&order={order}&offset={offset}")
                assert page["total"] == num_games, page["total"]
                assert len(page["episodes"]) == 50
                pages[f"{order} {offset}"] = page_s
        number = page["episodes"][0]["id"]
        _, episode_s = asked(client, f"/api/v1/runs/many/episodes/{number}")
        client.close()
        server.stop()
    slowest = max([first_s, *pages.values()])
    print(f"{num_games:,} games: first page of a fresh server {first_s * 1e3:.0f} ms")
    print(f"  all indexed after {index_s:.1f} s, in the background")
    print(f"  slowest page {slowest * 1e3:.0f} ms, one game {episode_s * 1e3:.0f} ms")
    print(f"  goal {MAX_PAGE_S:g} s: {'met' if slowest < MAX_PAGE_S else 'MISSED'}")
    return {
        "num_games": num_games,
        "first_page_s": first_s,
        "first_page_has": len(first["episodes"]),
        "index_s": index_s,
        "pages_s": pages,
        "slowest_page_s": slowest,
        "episode_s": episode_s,
        "goal_s": MAX_PAGE_S,
    }


# ---- viewers


def on_core(core):
    """Runs in a new process, before its program: keeps it on one core."""

    def pin():
        os.sched_setaffinity(0, {core})

    return pin


class ProcessorTime:
    """The processor time of a process, looked at often, so that it is known at any moment."""

    def __init__(self, pid):
        self._stat = Path(f"/proc/{pid}/stat")
        self._looks = []
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def at(self, time_s):
        """Interpolated between two looks."""
        times, used = zip(*self._looks, strict=True)
        return float(np.interp(time_s, times, used))

    def _look(self):
        while (used_s := processor_s(self._stat)) is not None:
            self._looks.append((time.time(), used_s))
            time.sleep(LOOK_S)


def processor_s(stat):
    """Seconds of a process or thread by its stat file; None once it has ended."""
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:
        return None
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def thread_times(pid):
    """Seconds by thread; the whole process, with threads that have ended, under its name `all`."""
    found = {path.name: processor_s(path / "stat") for path in Path(f"/proc/{pid}/task").iterdir()}
    return {"all": processor_s(Path(f"/proc/{pid}/stat"))} | {
        name: used_s for name, used_s in found.items() if used_s is not None
    }


def add_serving_shares(legs):
    """The share of one core, over each leg, that goes to others than the threads which play and
    train: those that are busy without viewers. Other programs on the machine do not change it."""
    unwatched = [each["threads_s"] for each in legs if not each["num_viewers"]]
    total_s = sum(each["all"] for each in unwatched)
    used_s = Counter()
    for each in unwatched:
        used_s.update(each)
    busy = [name for name in used_s if name != "all" and used_s[name] > BUSY_SHARE * total_s]
    for each in legs:
        threads_s = each.pop("threads_s")
        busy_s = sum(threads_s.get(name, 0.0) for name in busy)
        each["serving_share"] = (threads_s["all"] - busy_s) / (each["end"] - each["start"])


def added_share(legs):
    """By which viewers raise that share, with a 95 % interval."""
    on = [each["serving_share"] for each in legs if each["num_viewers"]]
    off = [each["serving_share"] for each in legs if not each["num_viewers"]]
    added = statistics.mean(on) - statistics.mean(off)
    errors = [statistics.stdev(each) / math.sqrt(len(each)) for each in (on, off)]
    half = t_quantile(len(legs) - 2) * math.hypot(*errors)
    return {"added": added, "interval": [added - half, added + half]}


def add_throughput(leg, statuses, processor):
    """From the last status record before a leg to the last one in it."""
    first = [each for each in statuses if each["time"] <= leg["start"]][-1]
    last = [each for each in statuses if each["time"] <= leg["end"]][-1]
    used_s = processor.at(last["time"]) - processor.at(first["time"])
    for name in COUNTERS:
        growth = last[name] - first[name]
        leg[f"{name}_per_s"] = growth / (last["time"] - first["time"])
        leg[f"{name}_per_cpu_s"] = growth / used_s


def statuses_of(folder):
    path = folder / "watched" / "metrics.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [each for each in map(json.loads, lines) if each["kind"] == "status"]


def measure_viewers(game, num_viewers, num_legs, leg_s):
    cores = sorted(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        words = [word for setting in SETTINGS for word in ("--set", setting)]
        training = subprocess.Popen(
            [ZEROFLEET, "train", game, "--preset", "fast", "--run", "watched", *words],
            env={**os.environ, "ZEROFLEET_RUNS": folder},
            preexec_fn=on_core(cores[0]),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        try:
            processor = ProcessorTime(training.pid)
            address = next(line for line in training.stdout if line.startswith("dashboard: "))
            port = int(address.split("/")[2].split(":")[1])
            wait_for_training(Path(folder))
            legs = [
                leg(training, port, cores[-1], num_viewers if is_watched else 0, leg_s)
                for is_watched in watched_legs(num_legs)
            ]
            statuses = statuses_of(Path(folder))
        finally:
            training.send_signal(signal.SIGINT)
            training.communicate(timeout=120)
    add_serving_shares(legs)
    for each in legs:
        add_throughput(each, statuses, processor)
        per = ("s", "cpu_s")
        names = [(name, p) for name in COUNTERS for p in per]
        shown = ", ".join(f"{each[f'{name}_per_{p}']:,.0f} {name}/{p}" for name, p in names)
        print(
            f"  {each['num_viewers']:4} viewers: {shown}, {each['serving_share']:.1%} of a core "
            f"for serving, {each['messages']:,} messages"
        )
    names = [f"{name}_per_{per}" for name in COUNTERS for per in ("s", "cpu_s")]
    found = {name: compared(legs, name) for name in names}
    for name, each in found.items():
        low, high = each["interval"]
        print(
            f"{name} with {num_viewers} viewers over without: {each['ratio']:.3f} ({low:.3f} to "
            f"{high:.3f}); goal {MIN_RATIO}: {'met' if each['ratio'] >= MIN_RATIO else 'MISSED'}"
        )
    added = added_share(legs)
    low, high = added["interval"]
    print(
        f"{num_viewers} viewers take {added['added']:.2%} ({low:.2%} to {high:.2%}) of the core "
        f"on which the run trains; goal at most {1 - MIN_RATIO:.0%}"
    )
    return {
        "game": game,
        "num_viewers": num_viewers,
        "leg_s": leg_s,
        "legs": legs,
        "ratios": found,
        "serving": added,
        "goal": MIN_RATIO,
    }


def watched_legs(num_legs):
    """Off, on, on, off, and again."""
    return [number % 4 in (1, 2) for number in range(num_legs)]


def wait_for_training(folder):
    """Until some steps are done and the rates are steady."""
    while not (found := statuses_of(folder)) or found[-1]["step"] < 20 or len(found) < 6:
        time.sleep(0.5)


def leg(training, port, core, num_viewers, leg_s):
    """So many seconds, with viewers or without."""
    if training.poll() is not None:
        sys.exit("training has ended")
    start, messages = time.time(), 0
    before = thread_times(training.pid)
    if num_viewers:
        command = [sys.executable, str(Path(__file__).parent / "viewers.py")]
        command += [str(port), "watched", str(num_viewers), str(leg_s)]
        watching = subprocess.run(
            command, preexec_fn=on_core(core), stdout=subprocess.PIPE, check=True, text=True
        )
        messages = json.loads(watching.stdout)["num_messages"]
    else:
        time.sleep(leg_s)
    used = {name: at - before.get(name, 0.0) for name, at in thread_times(training.pid).items()}
    return {
        "num_viewers": num_viewers,
        "start": start,
        "end": time.time(),
        "messages": messages,
        "threads_s": used,
    }


def compared(legs, name):
    """The mean ratio, with viewers over without, of blocks of four legs (off, on, on, off), with a
    95 % interval over the blocks: what grows evenly while the run learns cancels within a block."""
    ratios = []
    for first in range(0, len(legs), 4):
        off, on, again, last = (each[name] for each in legs[first : first + 4])
        ratios.append((on + again) / (off + last))
    half = t_quantile(len(ratios) - 1) * statistics.stdev(ratios) / math.sqrt(len(ratios))
    ratio = statistics.mean(ratios)
    return {"ratio": ratio, "interval": [ratio - half, ratio + half], "blocks": ratios}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["episodes", "viewers"])
    parser.add_argument("--episodes", type=int, default=50_000, help="in the log")
    parser.add_argument("--game", default="connect4", help="that trains")
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--legs", type=int, default=12, help="in blocks of four, at least two")
    parser.add_argument("--seconds", type=float, default=60, help="of each leg")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
    if arguments.legs < 8 or arguments.legs % 4:
        sys.exit(f"--legs {arguments.legs}: legs come in blocks of four, at least 8")
    wanted = arguments.what or ["episodes", "viewers"]
    found = {}
    if "episodes" in wanted:
        found["episodes"] = measure_episodes(arguments.episodes)
    if "viewers" in wanted:
        found["viewers"] = measure_viewers(
            arguments.game, arguments.viewers, arguments.legs, arguments.seconds
        )
    if not arguments.no_record:
        record("web", f"bench/web/run.py {' '.join(sys.argv[1:])}".strip(), found)


if __name__ == "__main__":
    main()
