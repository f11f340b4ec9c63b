"""How often honest decisions differ when they are searched again, how often the sequential test
alarms falsely, and how many forged games get in before a sender is found.

Honest games are played with noise on the network's answers, as another device's arithmetic gives:
1e-6 is the rounding of float32 (wasm), 1e-4 and more is a GPU with other kernels. Then real tabs of
Chromium play, with WebAssembly and with WebGPU, which SwiftShader computes in software. The other
figures follow from zerofleet.web.lend.trust alone.

    .venv/bin/python bench/lend/calibration.py
    .venv/bin/python bench/lend/calibration.py --only tabs
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "bench"), str(ROOT / "tests" / "support")]
import recording  # noqa: E402
from browser import WEBGPU, Dash, chromium  # noqa: E402
from lent_tab import ask_player, episodes_of, text_of  # noqa: E402

from zerofleet import _core, config, games, nets  # noqa: E402
from zerofleet.games import Episode  # noqa: E402
from zerofleet.infer.onnx_evaluator import OnnxEvaluator  # noqa: E402
from zerofleet.infer.onnx_file import onnx_with_weights  # noqa: E402
from zerofleet.nets.onnx import exported  # noqa: E402
from zerofleet.web.lend.checks import differs, lent_settings  # noqa: E402
from zerofleet.web.lend.trust import (  # noqa: E402
    ALARM,
    HONEST_RATE,
    IF_DIFFERENT,
    IF_EQUAL,
    Standing,
)
from zerofleet.web.lend.weights import check_rows  # noqa: E402

NOISES = (1e-6, 1e-5, 1e-4, 1e-3)
GAMES = {"connect4": 40, "beastybar": 30, "backgammon": 10, "gomoku": 3}
TAB_GAMES = {"connect4": 40, "beastybar": 40, "backgammon": 6, "gomoku": 2}
TAB_SIMULATIONS = 8
"""SwiftShader is slow."""
SEED, WORKER = 5, 6
TURNED = [
    *((num_valid, 1.0, 2_000) for num_valid in (0, 10, 100, 10_000)),
    *((num_valid, 0.2, 2_000) for num_valid in (0, 10_000)),
    *((10_000, share, 200) for share in (0.1, 0.07, 0.05, 0.04, 0.03, 0.02)),
]
"""Valid games before, share of forged decisions, and trials."""
MANY_GAMES = 100_000
PARTS = ["tabs", "honest", "false_alarms", "turned_later"]


def network_of(chosen, game):
    """Graph and weights. These are doubled: a fresh network prefers nothing, and any search
    agrees."""
    network = nets.build(game, chosen.network.preset, **chosen.network.options)
    state = {
        name: each.numpy() * np.float32(2) if each.dim() > 1 else each.numpy()
        for name, each in network.state_dict().items()
    }
    return exported(network.spec), state


def with_noise(evaluate, noise):
    drawn = np.random.default_rng(1)

    def noisy(rows):
        logits, outcomes = evaluate(rows)
        logits = logits + drawn.normal(0, noise, logits.shape)
        outcomes = np.maximum(outcomes + drawn.normal(0, noise / 4, outcomes.shape), 1e-9)
        outcomes /= outcomes.sum(axis=1, keepdims=True)
        return logits.astype(np.float32), outcomes.astype(np.float32)

    return noisy


def honest(name, num_games, noise):
    """The share of decisions that differ, and what a check of a game costs."""
    chosen = config.load(name, "fast")
    game = games.get(name, **chosen.game.options)
    evaluate = OnnxEvaluator(*network_of(chosen, game))
    noisy = with_noise(evaluate, noise)
    settings = lent_settings(chosen, chosen.search.num_simulations)
    driver = _core.SelfPlay(
        game, settings, 1, num_games, 0, None, SEED, WORKER, None, 1, 0, num_games
    )
    while not driver.finished:
        if (batch := driver.next_batch(1.0)) is not None:
            driver.submit(batch[0], *noisy(np.ascontiguousarray(batch[1])), 1)
    played, began_s = driver.take_episodes(), time.process_time()
    differing = searched_again(game, settings, evaluate, played)
    return {
        "game": name,
        "noise": noise,
        "decisions": len(differing),
        "differing": int(np.sum(differing)),
        "share": round(float(np.mean(differing)), 5),
        "cpu_ms_per_game": round(1e3 * (time.process_time() - began_s) / num_games, 1),
    }


def searched_again(game, settings, evaluate, played):
    """Which decisions differ."""
    differing = []
    for data in played:
        episode = Episode.decode(data)
        numbers = [i for i, event in enumerate(episode.events) if event.outcomes_to_move]
        again = _core.Recheck(game, settings, None, SEED, WORKER, 1, episode, numbers)
        while not again.finished:
            if len(rows := again.gather()):
                again.absorb(*evaluate(rows))
        found = Episode.decode(again.episode()).events
        differing += [differs(episode.events[i], found[i]) for i in numbers]
    return differing


def in_tab(page, name, num_games, backend):
    """The same of games that a tab has played."""
    chosen = config.load(name, "fast")
    game = games.get(name, **chosen.game.options)
    graph, state = network_of(chosen, game)
    evaluate = OnnxEvaluator(graph, state)
    settings = lent_settings(chosen, TAB_SIMULATIONS)
    rows = check_rows(game)
    logits, outcomes = evaluate(rows)
    check = {
        "numRows": len(rows),
        "observations": text_of(rows.tobytes()),
        "policyLogits": text_of(logits.astype("<f4").tobytes()),
        "outcomes": text_of(outcomes.astype("<f4").tobytes()),
    }
    onnx = text_of(onnx_with_weights(graph, state, 1))
    portion = {
        "assignment": 1, "game": name, "options": chosen.game.options, "settings": settings,
        "version": "1", "worker": str(WORKER), "seed": str(SEED), "firstSequence": "0",
        "count": num_games, "batch": num_games,
    }  # fmt: skip
    answers = ask_player(
        page,
        [
            {"type": "weights", "onnx": onnx, "check": check, "backend": backend, "numThreads": 1},
            {"type": "play", "isWatched": False, "portion": portion},
        ],
    )
    played = episodes_of(answers)
    assert len(played) == num_games
    differing = searched_again(game, settings, evaluate, played)
    return {
        "game": name,
        "backend": backend,
        "largest_difference": next(x["difference"] for x in answers if x["type"] == "weights"),
        "decisions": len(differing),
        "differing": int(np.sum(differing)),
    }


def in_tabs(scale):
    with tempfile.TemporaryDirectory() as folder, Dash(Path(folder)) as dash:
        for backend, flags in (("wasm", ()), ("webgpu", WEBGPU)):
            with chromium(more=flags) as browser:
                page = browser.new_page()
                page.set_default_timeout(600_000)
                page.goto(dash.url + "/runs")
                for name, num_games in TAB_GAMES.items():
                    yield in_tab(page, name, max(1, round(num_games * scale)), backend)


def false_alarms(rate, num_senders, num_decisions):
    """Alarms of honest senders, by simulation: each starts again after one."""
    drawn = np.random.default_rng(2)
    suspicion, num_alarms = np.zeros(num_senders), 0
    for _ in range(num_decisions):
        step = np.where(drawn.random(num_senders) < rate, IF_DIFFERENT, IF_EQUAL)
        suspicion = np.maximum(0, suspicion + step)
        alarmed = suspicion >= ALARM
        num_alarms += int(alarmed.sum())
        suspicion[alarmed] = 0
    return {
        "honest_rate": rate,
        "decisions": num_senders * num_decisions,
        "alarms": num_alarms,
        "alarms_per_100000_games_of_20": round(
            num_alarms / (num_senders * num_decisions) * 20 * 1e5, 3
        ),
        "bound_by_lorden_per_100000_games_of_20": round(20 * 1e5 * float(np.exp(-ALARM)), 3),
    }


def turned_later(num_valid, forged_share, num_trials, num_decisions=20):
    """Forged games that are accepted before the alarm, or within MANY_GAMES."""
    drawn, counts = np.random.default_rng(3), []
    for _ in range(num_trials):
        standing, count = Standing(num_valid=num_valid), 0
        while not standing.is_alarming and count < MANY_GAMES:
            if drawn.random() < standing.check_probability:
                standing = standing.after_check(drawn.random(num_decisions) < forged_share)
            else:
                standing = standing.after_valid()
            count += not standing.is_alarming
        counts.append(count)
    return {
        "valid_before": num_valid,
        "forged_share_of_decisions": forged_share,
        "decisions_per_game": num_decisions,
        "trials": num_trials,
        "not_found": sum(each == MANY_GAMES for each in counts),
        "accepted_mean": round(float(np.mean(counts)), 1),
        "standard_error": round(float(np.std(counts) / np.sqrt(num_trials)), 1),
        "accepted_p99": float(np.quantile(counts, 0.99)),
        "forged_decisions_mean": round(float(np.mean(counts)) * num_decisions * forged_share, 1),
    }


def printed(rows):
    found = []
    for row in rows:
        print(row, flush=True)
        found.append(row)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of games")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS)
    options = parser.parse_args()
    scale, found = options.scale, {}
    if "tabs" in options.only:
        found["tabs"] = printed(in_tabs(scale))
    if "honest" in options.only:
        found["honest"] = printed(
            honest(name, max(1, round(num_games * scale)), noise)
            for name, num_games in GAMES.items()
            for noise in NOISES
        )
    if "false_alarms" in options.only:
        found["false_alarms"] = printed(
            false_alarms(rate, 20_000, 5_000) for rate in (HONEST_RATE, HONEST_RATE / 2)
        )
    if "turned_later" in options.only:
        found["turned_later"] = printed(turned_later(*each) for each in TURNED)
    only = f" --only {' '.join(options.only)}" if options.only != PARTS else ""
    recording.record(
        "lend-calibration", f"bench/lend/calibration.py --scale {scale:g}{only}", found
    )


if __name__ == "__main__":
    main()
