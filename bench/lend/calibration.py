"""How often honest decisions differ when they are searched again, how often the sequential test
alarms falsely, and how many forged games get in before a sender is found.

Honest games are played with noise on the network's answers, as another device's arithmetic gives:
1e-6 is the rounding of float32 (wasm), 1e-4 and more is a GPU with other kernels. The other figures
follow from zerofleet.web.lend.trust alone.

    .venv/bin/python bench/lend/calibration.py
"""

import argparse
import json
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import recording  # noqa: E402

from zerofleet import _core, config, games, nets  # noqa: E402
from zerofleet.games import Episode  # noqa: E402
from zerofleet.infer.onnx_evaluator import OnnxEvaluator  # noqa: E402
from zerofleet.nets.onnx import exported  # noqa: E402
from zerofleet.web.lend.checks import differs, lent_settings  # noqa: E402
from zerofleet.web.lend.trust import (  # noqa: E402
    ALARM,
    HONEST_RATE,
    IF_DIFFERENT,
    IF_EQUAL,
    Standing,
)

NOISES = (1e-6, 1e-5, 1e-4, 1e-3)
GAMES = {"connect4": 40, "beastybar": 30, "backgammon": 10, "gomoku": 3}
SEED, WORKER = 5, 6


def network_of(chosen, game):
    """Its weights doubled: a fresh network prefers nothing, and any search agrees."""
    network = nets.build(game, chosen.network.preset, **chosen.network.options)
    state = {
        name: each.numpy() * np.float32(2) if each.dim() > 1 else each.numpy()
        for name, each in network.state_dict().items()
    }
    return OnnxEvaluator(exported(network.spec), state)


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
    evaluate = network_of(chosen, game)
    noisy = with_noise(evaluate, noise)
    settings = lent_settings(chosen, chosen.search.num_simulations)
    driver = _core.SelfPlay(
        game, settings, 1, num_games, 0, None, SEED, WORKER, None, 1, 0, num_games
    )
    while not driver.finished:
        if (batch := driver.next_batch(1.0)) is not None:
            driver.submit(batch[0], *noisy(np.ascontiguousarray(batch[1])), 1)
    differing, began_s = [], time.process_time()
    for data in driver.take_episodes():
        episode = Episode.decode(data)
        numbers = [i for i, event in enumerate(episode.events) if event.outcomes_to_move]
        again = _core.Recheck(game, settings, None, SEED, WORKER, 1, episode, numbers)
        while not again.finished:
            if len(rows := again.gather()):
                again.absorb(*evaluate(rows))
        found = Episode.decode(again.episode()).events
        differing += [differs(episode.events[i], found[i]) for i in numbers]
    return {
        "game": name,
        "noise": noise,
        "decisions": len(differing),
        "differing": int(np.sum(differing)),
        "share": round(float(np.mean(differing)), 5),
        "cpu_ms_per_game": round(1e3 * (time.process_time() - began_s) / num_games, 1),
    }


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
    """Forged games that are accepted before the alarm."""
    drawn, counts = np.random.default_rng(3), []
    for _ in range(num_trials):
        standing, count = Standing(num_valid=num_valid), 0
        while not standing.is_alarming and count < 100_000:
            if drawn.random() < standing.check_probability:
                standing = standing.after_check(drawn.random(num_decisions) < forged_share)
            else:
                standing = standing.after_valid()
            count += not standing.is_alarming
        counts.append(count)
    return {
        "valid_before": num_valid,
        "forged_share_of_decisions": forged_share,
        "accepted_mean": round(float(np.mean(counts)), 1),
        "standard_error": round(float(np.std(counts) / np.sqrt(num_trials)), 1),
        "accepted_p99": float(np.quantile(counts, 0.99)),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of games")
    options = parser.parse_args()
    found = {"honest": [], "false_alarms": [], "turned_later": []}
    for name, num_games in GAMES.items():
        for noise in NOISES:
            row = honest(name, max(1, round(num_games * options.scale)), noise)
            found["honest"].append(row)
            print(row, flush=True)
    for rate in (HONEST_RATE, HONEST_RATE / 2):
        found["false_alarms"].append(false_alarms(rate, 20_000, 5_000))
        print(found["false_alarms"][-1], flush=True)
    for num_valid, share in (
        (0, 1.0),
        (0, 0.2),
        (10, 1.0),
        (100, 1.0),
        (10_000, 1.0),
        (10_000, 0.2),
    ):
        found["turned_later"].append(turned_later(num_valid, share, 2_000))
        print(found["turned_later"][-1], flush=True)
    command = f"bench/lend/calibration.py --scale {options.scale:g}"
    recording.record("lend-calibration", command, found)
    print(json.dumps(found["turned_later"], indent=1))


if __name__ == "__main__":
    main()
