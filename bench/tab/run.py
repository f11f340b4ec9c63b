"""What a lent tab is worth: games/s of one tab with one worker ÷ one native thread, per network.

Both play the same game with the shipped weights, the same simulations and batch, in turns within
one run; native is ONNX Runtime with one thread. A tab first plays until its code is compiled with
optimisation. Games/s follow from simulations/s, since both play the same games. Rates are given per
second, for a machine that does nothing else, and per second of processor time, of the tab's process
and of this one. With the arithmetic evaluator the core alone is compared. Games that began together
are in the same phase, so a measurement should hold several: the larger the batch, the longer.

    make venv && .venv/bin/python bench/tab/run.py
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "bench" / "fleet"), str(ROOT / "tests" / "support")]
import recording  # noqa: E402
from browser import Dash, chromium, chromium_processes  # noqa: E402
from lent_tab import built, text_of  # noqa: E402
from parts import process_usage  # noqa: E402
from safetensors.numpy import load_file  # noqa: E402

import zerofleet as zf  # noqa: E402
from zerofleet import _core  # noqa: E402
from zerofleet.infer.onnx_evaluator import OnnxEvaluator  # noqa: E402
from zerofleet.infer.onnx_file import onnx_with_weights  # noqa: E402
from zerofleet.weights import read_graph  # noqa: E402

KINDS = {
    "gomoku-15": ("gomoku", {"size": 15}, "convolutional, 6 blocks of 64"),
    "connect4": ("connect4", {}, "convolutional, 7 blocks of 96"),
    "backgammon": ("backgammon", {}, "dense, 4 blocks of 384"),
    "beastybar": ("beastybar", {}, "dense, 4 blocks of 384"),
}
SETTINGS = {"num_simulations": 32, "reuse_tree": False, "cache_bytes": 32 << 20}
"""The cache is as large as that of a tab, which chooses it itself."""
MANY = 10**6
PARTS = {"with_network": True, "core_alone": False}
"""Whether a network evaluates."""

WARM_UP_S = 10.0
"""For a browser's optimising compiler, which a large WebAssembly module keeps busy for seconds."""

START = """
async ({ player, core, onnx, portion }) => {
  const bytesOf = (text) => Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const worker = new Worker(player, { type: "module" });
  const module = await WebAssembly.compile(await (await fetch(core)).arrayBuffer());
  const ask = (request) => new Promise((resolve, reject) => {
    worker.onmessage = ({ data }) =>
      data.type === "fault" ? reject(new Error(data.message)) : resolve();
    worker.postMessage(request);
  });
  await ask({ type: "start", module, duty: { cpu: 100, gpu: 100 } });
  const weights = { type: "weights", check: null, backend: "wasm", numThreads: 1 };
  if (onnx) await ask({ ...weights, onnx: bytesOf(onnx) });
  const sum = { simulations: 0, inferences: 0, inferenceSeconds: 0 };
  globalThis.lent = { worker, reports: [], fault: null };
  worker.onmessage = ({ data }) => {
    if (data.type === "fault") lent.fault = data.message;
    if (data.type !== "games") return;
    sum.simulations += data.work.simulations;
    sum.inferences += data.work.inferences;
    sum.inferenceSeconds += data.work.inferenceSeconds;
    lent.reports.push({ seconds: performance.now() / 1000, ...sum });
  };
  worker.postMessage({ type: "play", portion, isWatched: false });
}
"""
PAUSE = "(isPaused) => lent.worker.postMessage({ type: 'pause', isPaused })"


class Tab:
    """A player of a tab, which rests between its turns."""

    def __init__(self, page, kind, onnx, batch):
        game, options, _ = KINDS[kind]
        portion = {
            "assignment": 1,
            "game": game,
            "options": options,
            "settings": SETTINGS,
            "version": 1,
            "worker": 1,
            "seed": 1,
            "firstSequence": 0,
            "count": MANY,
            "batch": batch,
        }
        asked = {"player": built("player-*.js"), "core": built("zerofleet-[!p]*.wasm")}
        page.evaluate(START, {**asked, "onnx": onnx and text_of(onnx), "portion": portion})
        self._page = page
        page.wait_for_timeout(1000 * WARM_UP_S)
        page.evaluate(PAUSE, True)
        tabs = [number for number, is_tab in chromium_processes().items() if is_tab]
        # Chromium keeps a renderer in reserve; the tab's is the one that has worked.
        self._process = max(tabs, key=lambda number: process_usage(number)[0])

    def measure(self, seconds):
        """Simulations per second and per second of processor time, the share of time in inference,
        and inferences per simulation."""
        self._page.evaluate("lent.reports.length = 0")
        self._page.evaluate(PAUSE, False)
        before, began_s = process_usage(self._process)[0], time.monotonic()
        self._page.wait_for_timeout(1000 * seconds)
        cores = (process_usage(self._process)[0] - before) / (time.monotonic() - began_s)
        found = self._page.evaluate("lent")
        self._page.evaluate(PAUSE, True)
        assert found["fault"] is None, found["fault"]
        first, last = found["reports"][0], found["reports"][-1]
        done = {name: last[name] - first[name] for name in last}
        rate = done["simulations"] / done["seconds"]
        share = done["inferenceSeconds"] / done["seconds"]
        return rate, rate / cores, share, done["inferences"] / done["simulations"]

    def close(self):
        self._page.evaluate("lent.worker.terminate()")


def natively(kind, network, batch, seconds):
    """The same games in one thread of this process: simulations per second and per second of
    processor time, and inferences per simulation."""
    game, options, _ = KINDS[kind]
    evaluator = None if network else "hash"
    driver = _core.SelfPlay(
        zf.games.get(game, **options), SETTINGS, 1, batch, 0, evaluator, 1, 1, None, version=1
    )
    rates = [played(driver, network, each) for each in (1, seconds)]  # the first warms up
    driver.stop()
    return rates[-1]


def played(driver, network, seconds):
    before, num_inferences = driver.counts().num_simulations, 0
    began_s, began_cpu_s = time.monotonic(), time.process_time()
    while time.monotonic() - began_s < seconds:
        if network is None:
            driver.wait_for_episodes(10**9, 0.2)
        elif (batch := driver.next_batch(0)) is not None:
            driver.submit(batch[0], *network(batch[1]), 1)
            num_inferences += len(batch[1])
        driver.take_episodes()
    num = driver.counts().num_simulations - before
    seconds, cpu_s = time.monotonic() - began_s, time.process_time() - began_cpu_s
    return num / seconds, num / cpu_s, num_inferences / num


def measure(page, kind, batch, seconds, turns, uses_network):
    folder = ROOT / "weights" / kind
    graph, state = read_graph(folder), load_file(folder / "weights.safetensors")
    network = OnnxEvaluator(graph, state) if uses_network else None
    tab = Tab(page, kind, onnx_with_weights(graph, state, 1) if uses_network else None, batch)
    found = [(natively(kind, network, batch, seconds), tab.measure(seconds)) for _ in range(turns)]
    tab.close()
    row = {}
    for name, index in (("per_s", 0), ("per_cpu_s", 1)):
        ratios = sorted(there[index] / here[index] for here, there in found)
        row |= {
            f"tab_simulations_{name}": round(statistics.median(each[index] for _, each in found)),
            f"native_simulations_{name}": round(
                statistics.median(each[index] for each, _ in found)
            ),
            f"tab_over_native_{name}": round(statistics.median(ratios), 3),
            f"tab_over_native_{name}_range": [round(ratios[0], 3), round(ratios[-1], 3)],
        }
    if uses_network:
        row["share_of_time_in_inference"] = round(statistics.median(e[2] for _, e in found), 3)
        row["tab_inferences_per_simulation"] = round(statistics.median(e[3] for _, e in found), 3)
        row["native_inferences_per_simulation"] = round(
            statistics.median(e[2] for e, _ in found), 3
        )
        row["network"] = KINDS[kind][2]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="per measurement")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--batch", type=int, default=16, help="games that are searched at once")
    parser.add_argument("--games", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    options = parser.parse_args()
    found = {"settings": SETTINGS, "batch": options.batch} | {part: {} for part in options.parts}
    with tempfile.TemporaryDirectory() as folder, Dash(Path(folder)) as dash, chromium() as browser:
        found["chromium"] = browser.version
        page = browser.new_page()
        page.goto(dash.url + "/runs")
        for part in options.parts:
            for kind in options.games:
                row = measure(
                    page, kind, options.batch, options.seconds, options.turns, PARTS[part]
                )
                found[part][kind] = row
                print(part, kind, json.dumps(row), flush=True)
    command = (
        f"bench/tab/run.py --seconds {options.seconds:g} --turns {options.turns} "
        f"--batch {options.batch} --games {' '.join(options.games)} "
        f"--parts {' '.join(options.parts)}"
    )
    recording.record("tab", command, found)


if __name__ == "__main__":
    main()
