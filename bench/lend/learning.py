"""Tabs feed a run: does it learn by their games alone, and as fast per game as from native games?

Each round trains runs of Connect Four from the same seed to the same number of games, with a real
Redis, trainer, gateway and Chromium:

    tabs     two tabs, no other worker; its trained weights play its first ones
    native   one native worker
    hybrid   two tabs and one native worker; its trained weights play those of `native`

The native worker has the lowest priority of the system, and starts once the tabs play: on a few
cores it would else play nearly all games of `hybrid`.

    .venv/bin/python bench/lend/learning.py [--games 2000] [--rounds 2] [--match-games 400]
"""

import argparse
import json
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench" / "fleet"), str(ROOT / "tests" / "support")]
import httpx  # noqa: E402
from browser import chromium, until  # noqa: E402
from lent_page import phase, start_lending, totals  # noqa: E402
from parts import NO_RATING, PATIENCE_S, RUN, Bench, logged_ids, record, wait_for  # noqa: E402

import zerofleet as zf  # noqa: E402
from zerofleet import metrics  # noqa: E402
from zerofleet.arena.statistics import estimate  # noqa: E402
from zerofleet.fleet.local_redis import free_port  # noqa: E402

GAME = "connect4"
SETTINGS = (
    *NO_RATING,
    "network.preset=tiny",
    "network.options.channels=16",
    "network.options.num_blocks=2",
    "search.num_simulations=16",
    "selfplay.games_per_group=16",
    "replay.min_rows=2000",
    "replay.capacity_rows=60000",
    "train.batch_size=256",
    "train.schedule=constant",
    "train.publish_every_steps=50",
    "lend.refresh_minutes=0.1",
    "lend.max_games_at_once=32",
)
LEGS = {"tabs": (2, 0), "native": (0, 1), "hybrid": (2, 1)}
"""Tabs and native workers."""
MATCHES = {
    "tabs against their start": ("tabs", ("tabs", "@0")),
    "hybrid against native": ("hybrid", ("native", "")),
}
"""Trained weights, and against whose."""
MATCH_SIMULATIONS = 16
LOWEST_PRIORITY = 19


def open_tabs(browser, url, num_tabs):
    """Each is a browser of its own to the server, with an account of its own."""
    pages = []
    for number in range(num_tabs):
        page = browser.new_context().new_page()
        start_lending(page, url, f"tab {number}")
        page.get_by_label("Batch").fill("32")
        pages.append(page)
    return pages


def leg(name, options, seed, keep):
    """Trains one run to its number of games, and moves it to the folder `keep`."""
    num_tabs, num_workers = LEGS[name]
    with Bench() as bench:
        bench.environment["ZEROFLEET_LEND"] = str(bench.folder / "lend")
        stops = (f"stop.games={options.games}", f"stop.minutes={options.minutes:g}")
        bench.trainer(GAME, *SETTINGS, *stops, f"run.seed={seed}")
        bench.wait_for_trainer()
        began_s = time.monotonic()
        found = {"leg": name, "seed": seed}
        if num_tabs:
            with chromium() as browser:
                found |= lend(bench, browser, num_tabs, num_workers)
        else:
            start_workers(bench, num_workers)
        while bench["trainer"].exit_status is None:
            time.sleep(0.5)
        assert bench["trainer"].exit_status == 0, bench["trainer"].output.read_text()
        found["minutes"] = round((time.monotonic() - began_s) / 60, 2)
        ids = logged_ids(bench.run)
        found |= {"games": len(ids), "twice": sum(times > 1 for times in ids.values())}
        steps = [each["step"] for each in metrics.read(bench.run) if each["kind"] == "status"]
        found["steps"] = max(steps)
        shutil.copytree(bench.run, keep)
    print(json.dumps(found), flush=True)
    return found


def start_workers(bench, number):
    for each in range(number):
        name = f"worker-{each}"
        role = bench.role(name, "worker", "--run", RUN, "--worker-id", name, "--threads", "1")
        os.setpriority(os.PRIO_PROCESS, role.pid, LOWEST_PRIORITY)


def lend(bench, browser, num_tabs, num_workers):
    """Lends until the trainer ends. Says how many games the tabs gave."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    bench.role("dash", "dash", "--run", RUN, "--lend", "--port", str(port))
    wait_for(lambda: is_lending(url), "the gateway", bench["dash"])
    pages = open_tabs(browser, url, num_tabs)
    faults = []
    for page in pages:
        page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
        until(lambda page=page: phase(page) == "playing", PATIENCE_S)
    start_workers(bench, num_workers)
    given = 0
    while bench["trainer"].exit_status is None:
        pages[0].wait_for_timeout(1000)
        totals_now = httpx.get(f"{url}/api/v1/lend/community").json()["totals"]
        given = max(given, totals_now["num_games"])  # 0 once the run has ended
    return {
        "by_tabs": given,  # a second before the end
        "console_errors": faults,
        "pages": [" ".join(totals(page).split()) for page in pages],
    }


def is_lending(url):
    try:
        return httpx.get(f"{url}/api/v1/lend", timeout=10).json()["lent"]
    except httpx.TransportError:
        return None


def match(first, second, num_games, seed):
    players = [f"run:{each},sims={MATCH_SIMULATIONS}" for each in (first, second)]
    played = zf.arena.match(GAME, *players, num_games=num_games, seed=seed)
    print(str(played), flush=True)
    return played


def summary(matches):
    """Over all rounds. The rounds differ by more than a match can tell, so their scores are
    listed."""
    pairs = estimate([score for each in matches for score in each.pair_scores], 0, 1)
    return {
        "score": pairs.mean,
        "interval": (pairs.low, pairs.high),
        "by_round": [each.score for each in matches],
        "num_games": sum(each.num_games for each in matches),
        "spread_of_rounds": statistics.stdev(each.score for each in matches)
        if len(matches) > 1
        else None,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--games", type=int, default=2000, help="of each run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--match-games", type=int, default=400)
    parser.add_argument("--minutes", type=float, default=10, help="of a run, at most")
    parser.add_argument("--only-tabs", action="store_true", help="no native and no hybrid run")
    parser.add_argument("--no-record", action="store_true", help="print only")
    options = parser.parse_args()
    found = {"settings": SETTINGS, "legs": []}
    matches = {}
    with tempfile.TemporaryDirectory() as folder:
        os.environ["ZEROFLEET_RUNS"] = folder
        for number in range(1, options.rounds + 1):
            for name in ["tabs"] if options.only_tabs else LEGS:
                found["legs"].append(leg(name, options, number, Path(folder) / f"{name}-{number}"))
            for name, (first, second) in MATCHES.items():
                if first == "tabs" or not options.only_tabs:
                    run, step = second
                    played = match(
                        f"{first}-{number}", f"{run}-{number}{step}", options.match_games, number
                    )
                    matches.setdefault(name, []).append(played)
    found["matches"] = {name: summary(each) for name, each in matches.items()}
    found["checks"] = {
        "every run has its games": all(each["games"] >= options.games for each in found["legs"]),
        "each game once": not any(each["twice"] for each in found["legs"]),
        "tabs alone improve": found["matches"]["tabs against their start"]["interval"][0] > 0.5,
    }
    if not options.only_tabs:
        interval = found["matches"]["hybrid against native"]["interval"]
        found["checks"]["hybrid no weaker"] = interval[1] >= 0.5
    print(json.dumps(found["matches"] | {"checks": found["checks"]}, indent=1))
    command = (
        f"bench/lend/learning.py --games {options.games} --rounds {options.rounds} "
        f"--match-games {options.match_games}"
    )
    if not options.no_record:
        record("lend-learning", command, found)
    return 0 if all(found["checks"].values()) else 1


if __name__ == "__main__":
    sys.exit(main())
