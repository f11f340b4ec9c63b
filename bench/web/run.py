"""What the dashboard costs: paging through many games, and training while many people watch.

    .venv/bin/python bench/web/run.py [episodes] [viewers] [--no-record]
    .venv/bin/python bench/web/run.py viewers --legs 16 --seconds 30 --viewers 200

episodes: a run with 50,000 games in its log. A fresh server answers the first page, then pages in
every order once its index is built; times are those of whole requests.

viewers: a run trains, with its dashboard, on one core. In every other leg, in the order off, on,
on, off, people watch it: each loads the run page's data and then listens to its live connection.
Their processes are on another core. Throughput is that of the run's own counters.
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
import time
from http.client import HTTPConnection
from pathlib import Path

import zerofleet as zf
from zerofleet import config
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


def counters_at(statuses, time_s):
    """The run's counters at a moment, interpolated between two status records."""
    after = next((each for each in statuses if each["time"] >= time_s), statuses[-1])
    before = [each for each in statuses if each["time"] < time_s][-1]
    whole_s = max(1e-9, after["time"] - before["time"])
    share = min(1.0, (time_s - before["time"]) / whole_s)
    return {name: before[name] + share * (after[name] - before[name]) for name in COUNTERS}


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
            address = next(line for line in training.stdout if line.startswith("dashboard: "))
            port = int(address.split("/")[2].split(":")[1])
            wait_for_training(Path(folder))
            legs = [
                leg(training, port, cores[-1], num_viewers if is_watched else 0, leg_s)
                for is_watched in watched_legs(num_legs)
            ]
            wait_for_status(Path(folder), legs[-1]["end"])
            statuses = statuses_of(Path(folder))
        finally:
            training.send_signal(signal.SIGINT)
            training.communicate(timeout=120)
    for each in legs:
        start, end = counters_at(statuses, each["start"]), counters_at(statuses, each["end"])
        for name in COUNTERS:
            each[f"{name}_per_s"] = (end[name] - start[name]) / (each["end"] - each["start"])
        shown = ", ".join(f"{each[f'{name}_per_s']:,.0f} {name}/s" for name in COUNTERS)
        print(f"  {each['num_viewers']:4} viewers: {shown}, {each['messages']:,} messages")
    found = {name: compared(legs, f"{name}_per_s") for name in COUNTERS}
    for name, each in found.items():
        low, high = each["interval"]
        is_met = each["ratio"] >= MIN_RATIO
        print(
            f"{name}/s with {num_viewers} viewers over without: {each['ratio']:.3f} "
            f"({low:.3f} to {high:.3f}); goal {MIN_RATIO}: {'met' if is_met else 'MISSED'}"
        )
    return {
        "game": game,
        "num_viewers": num_viewers,
        "leg_s": leg_s,
        "legs": legs,
        "ratios": found,
        "goal": MIN_RATIO,
    }


def watched_legs(num_legs):
    """Off, on, on, off, and again."""
    return [number % 4 in (1, 2) for number in range(num_legs)]


def wait_for_training(folder):
    """Until some steps are done and the rates are steady."""
    while not (found := statuses_of(folder)) or found[-1]["step"] < 20 or len(found) < 6:
        time.sleep(0.5)


def wait_for_status(folder, time_s):
    while statuses_of(folder)[-1]["time"] < time_s:
        time.sleep(0.5)


def leg(training, port, core, num_viewers, leg_s):
    """So many seconds, with viewers or without."""
    if training.poll() is not None:
        sys.exit("training has ended")
    start, messages = time.time(), 0
    if num_viewers:
        command = [sys.executable, str(Path(__file__).parent / "viewers.py")]
        command += [str(port), "watched", str(num_viewers), str(leg_s)]
        watching = subprocess.run(
            command, preexec_fn=on_core(core), stdout=subprocess.PIPE, check=True, text=True
        )
        messages = json.loads(watching.stdout)["num_messages"]
    else:
        time.sleep(leg_s)
    return {"num_viewers": num_viewers, "start": start, "end": time.time(), "messages": messages}


def compared(legs, name):
    """The ratio of means of legs with viewers and without, with a 95 % interval."""
    on = [each[name] for each in legs if each["num_viewers"]]
    off = [each[name] for each in legs if not each["num_viewers"]]
    ratio = statistics.mean(on) / statistics.mean(off)
    errors = [
        statistics.stdev(each) / statistics.mean(each) / math.sqrt(len(each)) for each in (on, off)
    ]
    half = 1.96 * ratio * math.hypot(*errors)
    return {"ratio": ratio, "interval": [ratio - half, ratio + half]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="*", choices=["episodes", "viewers"])
    parser.add_argument("--episodes", type=int, default=50_000, help="in the log")
    parser.add_argument("--game", default="connect4", help="that trains")
    parser.add_argument("--viewers", type=int, default=200)
    parser.add_argument("--legs", type=int, default=16)
    parser.add_argument("--seconds", type=float, default=30, help="of each leg")
    parser.add_argument("--no-record", action="store_true", help="print only")
    arguments = parser.parse_args()
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
