"""A tab that lends for an hour: does its memory stay flat?

A real tab of Chromium plays for the real gateway, at a low duty cycle, and gets new weights again
and again. No developer tools watch it: they may keep what it downloads. Every half minute the
resident and the proportional memory of its renderer is read, and that of all other processes of the
browser; every few minutes what its page and workers use after a garbage collection. The trainer
takes games in without training.

    .venv/bin/python bench/lend/hour.py [--minutes 60] [--cpu 10] [--weights-s 60]
"""

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "fleet"), str(ROOT / "tests" / "support")]
import recording  # noqa: E402
from bare_tab import BareTab  # noqa: E402
from browser import chromium, chromium_processes  # noqa: E402
from lending_client import sign_up  # noqa: E402
from lent_page import start_lending_in  # noqa: E402
from lent_run import lent_server  # noqa: E402
from parts import MIB, process_usage, slope_per_minute  # noqa: E402
from redis_server import RedisServer  # noqa: E402

SAMPLE_S = 30.0
COLLECT_S = 300.0
"""Between garbage collections: often, they would hide what piles up between them."""
SETTLED_S = (600.0, 1800.0)
"""A trend is told from each of these on."""
MAX_GROWTH_PER_HOUR = 0.02
"""Of the mean; a slope below it, or whose interval holds 0, counts as flat."""
GAME = "connect4"
FIGURES = "document.querySelector('.figures').innerText.split('\\n').join(' ')"
MEMORY = """
(async () => {
  const { bytes, breakdown } = await performance.measureUserAgentSpecificMemory();
  const byType = {};
  for (const { bytes, types } of breakdown) {
    const name = types.join(" ") || "other";
    byType[name] = (byType[name] ?? 0) + bytes;
  }
  return { bytes, byType };
})()
"""


def proportional_bytes(number):
    """0 where the process has ended."""
    try:
        text = Path(f"/proc/{number}/smaps_rollup").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 1024 * int(next(line.split()[1] for line in text.splitlines() if line[:4] == "Pss:"))


class Watch:
    """Samples of one tab."""

    def __init__(self, tab):
        self._tab = tab
        tabs = [number for number, is_tab in chromium_processes().items() if is_tab]
        # Chromium keeps a renderer in reserve; the tab's is the one that has worked.
        self.process = max(tabs, key=lambda number: process_usage(number)[0])
        self.began_s = time.monotonic()
        self.rows, self.collected = [], []

    def cpu_s(self):
        return process_usage(self.process)[0]

    def sample(self):
        others = chromium_processes().keys() - {self.process}
        row = {
            "at_s": round(time.monotonic() - self.began_s, 1),
            "tab_rss": process_usage(self.process)[1],
            "tab_pss": proportional_bytes(self.process),
            "page_heap": self._tab.evaluate("performance.memory.usedJSHeapSize"),
            "others_pss": sum(proportional_bytes(each) for each in others),
        }
        self.rows.append(row)
        return row

    def collect(self):
        found = self._tab.evaluate(MEMORY)
        at_s = round(time.monotonic() - self.began_s, 1)
        self.collected.append({"at_s": at_s, "bytes": found["bytes"], **found["byType"]})


def trend(points, settled_s):
    """Mean of samples (seconds, bytes) after the settling, their growth per hour with its 95 %
    interval, and whether that is flat."""
    slope = slope_per_minute(points, settled_s)
    settled = [value for at_s, value in points if at_s >= settled_s]
    if slope is None or not settled:
        return None
    mean = sum(settled) / len(settled)
    per_hour = [60 * each for each in slope]
    grows = per_hour[1] > 0 and per_hour[0] > MAX_GROWTH_PER_HOUR * mean
    return {
        "mean_mib": round(mean / MIB, 1),
        "least_mib": round(min(settled) / MIB, 1),
        "most_mib": round(max(settled) / MIB, 1),
        "growth_mib_per_hour": [round(each / MIB, 2) for each in per_hour],
        "flat": not grows,
    }


def measure(options, folder):
    with (
        RedisServer(folder) as redis,
        lent_server(folder, redis, GAME, "lend.max_games_at_once=8") as lent,
        chromium() as browser,
    ):
        tab = BareTab(browser, f"{lent.url}/community")
        start_lending_in(tab, sign_up(lent.url, "Ada"), options.cpu)
        lent.wait_for(lambda: lent.trainer.taken, "the first game")
        watch = Watch(tab)
        cpu_s, num_before = watch.cpu_s(), len(lent.trainer.taken)
        published_s = collected_s = watch.began_s
        version = 1
        end_s = watch.began_s + 60 * options.minutes
        while (now := time.monotonic()) < end_s:
            if now >= published_s + options.weights_s:
                version, published_s = lent.trainer.publish(version + 1), now
            if now >= collected_s + COLLECT_S:
                watch.collect()
                collected_s = now
            row = watch.sample() | {"games": len(lent.trainer.taken), "version": version}
            print(json.dumps(row), flush=True)
            time.sleep(SAMPLE_S)
        wall_s = time.monotonic() - watch.began_s
        found = {
            "game": GAME,
            "minutes": options.minutes,
            "cpu_percent": options.cpu,
            "chromium": browser.version,
            "games": len(lent.trainer.taken) - num_before,
            "twice": lent.trainer.num_twice,
            "versions": version,
            "tab_cores": round((watch.cpu_s() - cpu_s) / wall_s, 3),
            "page_at_end": tab.evaluate(FIGURES),
        }
    names = [name for name in watch.rows[0] if name != "at_s"]
    points = {name: [(row["at_s"], row[name]) for row in watch.rows] for name in names}
    # One value per collection, each a minute of its own for the line.
    points["after_collection"] = [(row["at_s"], row["bytes"]) for row in watch.collected]
    found["trends"] = {
        f"after {settled_s / 60:g} minutes": {
            name: trend(each, settled_s) for name, each in points.items()
        }
        for settled_s in SETTLED_S
    }
    return found | {"samples": watch.rows, "collections": watch.collected}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--cpu", type=int, default=10, help="percent, as the page's slider")
    parser.add_argument("--weights-s", type=float, default=60, help="between new weights")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        found = measure(options, Path(name))
    shown = {name: each for name, each in found.items() if name not in ("samples", "collections")}
    print(json.dumps(shown, indent=1))
    command = (
        f"bench/lend/hour.py --minutes {options.minutes:g} --cpu {options.cpu} "
        f"--weights-s {options.weights_s:g}"
    )
    recording.record("lend-hour", command, found)


if __name__ == "__main__":
    main()
