"""What a lent tab is worth: games/s of one tab with one worker ÷ one native thread, per network.

Both play the same game with the shipped weights, the same simulations and batch, in turns within
one run; native is ONNX Runtime with one thread. A Web Worker's CPU time cannot be read, so seconds
are wall time: run it on a machine that does nothing else. Games/s follow from simulations/s, since
both play the same games. With the arithmetic evaluator the core alone is compared.

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
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "support")]
import recording  # noqa: E402
from browser import Dash, chromium  # noqa: E402
from lent_tab import built, text_of  # noqa: E402
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
SETTINGS = {"num_simulations": 32, "reuse_tree": False, "cache_bytes": 0}
BATCH = 16
MANY = 10**6

PLAY = """
async ({ player, core, onnx, portion, seconds }) => {
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
  const found = await new Promise((resolve, reject) => {
    let begunAt = null;
    const sum = { simulations: 0, games: 0, inferenceSeconds: 0, inferences: 0, seconds: 0 };
    worker.onmessage = ({ data }) => {
      if (data.type === "fault") return reject(new Error(data.message));
      if (data.type !== "games") return;
      const now = performance.now();
      begunAt ??= now; // the first report is of a runtime that still compiles
      if (now === begunAt) return;
      sum.simulations += data.work.simulations;
      sum.inferences += data.work.inferences;
      sum.inferenceSeconds += data.work.inferenceSeconds;
      sum.games += data.episodes.length;
      sum.seconds = (now - begunAt) / 1000;
      if (sum.seconds >= seconds) resolve(sum);
    };
    worker.postMessage({ type: "play", portion, isWatched: false });
  });
  worker.terminate();
  return found;
}
"""


def in_tab(page, kind, onnx, seconds):
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
        "batch": BATCH,
    }
    asked = {"player": built("player-*.js"), "core": built("zerofleet-[!p]*.wasm")}
    return page.evaluate(
        PLAY, {**asked, "onnx": onnx and text_of(onnx), "portion": portion, "seconds": seconds}
    )


def natively(kind, network, seconds):
    game, options, _ = KINDS[kind]
    evaluator = None if network else "hash"
    driver = _core.SelfPlay(
        zf.games.get(game, **options), SETTINGS, 1, BATCH, 0, evaluator, 1, 1, None, version=1
    )
    begun_s, spent_s = None, 0.0
    before = 0
    while begun_s is None or spent_s < seconds:
        if network is None:
            driver.wait_for_episodes(10**9, 0.2)
        elif (batch := driver.next_batch(0)) is not None:
            driver.submit(batch[0], *network(batch[1]), 1)
        driver.take_episodes()
        if begun_s is None:
            begun_s, before = time.monotonic(), driver.counts().num_simulations
        spent_s = time.monotonic() - begun_s
    return (driver.counts().num_simulations - before) / spent_s


def measure(page, kind, seconds, turns, uses_network):
    folder = ROOT / "weights" / kind
    graph, state = read_graph(folder), load_file(folder / "weights.safetensors")
    network = OnnxEvaluator(graph, state) if uses_network else None
    onnx = onnx_with_weights(graph, state, 1) if uses_network else None
    found = []
    for _ in range(turns):
        native = natively(kind, network, seconds)
        tab = in_tab(page, kind, onnx, seconds)
        found.append((tab["simulations"] / tab["seconds"], native, tab))
    ratios = sorted(tab / native for tab, native, _ in found)
    row = {
        "tab_simulations_per_s": round(statistics.median(tab for tab, _, _ in found), 1),
        "native_simulations_per_s": round(statistics.median(each for _, each, _ in found), 1),
        "tab_over_native": round(statistics.median(ratios), 3),
        "tab_over_native_range": [round(ratios[0], 3), round(ratios[-1], 3)],
    }
    if uses_network:
        shares = [tab["inferenceSeconds"] / tab["seconds"] for _, _, tab in found]
        row["share_of_time_in_inference"] = round(statistics.median(shares), 3)
        row["network"] = KINDS[kind][2]
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=5, help="per measurement")
    parser.add_argument("--turns", type=int, default=3)
    options = parser.parse_args()
    found = {"settings": SETTINGS, "batch": BATCH, "with_network": {}, "core_alone": {}}
    with tempfile.TemporaryDirectory() as folder, Dash(Path(folder)) as dash, chromium() as browser:
        found["chromium"] = browser.version
        page = browser.new_page()
        page.goto(dash.url + "/runs")
        for part, uses_network in (("with_network", True), ("core_alone", False)):
            for kind in KINDS:
                row = measure(page, kind, options.seconds, options.turns, uses_network)
                found[part][kind] = row
                print(part, kind, json.dumps(row), flush=True)
    command = f"bench/tab/run.py --seconds {options.seconds:g} --turns {options.turns}"
    recording.record("tab", command, found)


if __name__ == "__main__":
    main()
