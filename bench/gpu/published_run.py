"""The published run on one GPU: 2,000 steps of 16,384 samples of Beasty Bar, and what they took.

    .venv/bin/python bench/gpu/published_run.py train [--run published-run] [--minutes 9]
    .venv/bin/python bench/gpu/published_run.py collect [--run published-run] [--usd-per-hour 12.29]

`train` makes a leg with the preset published_run: to the last step, or for some minutes; again, it
resumes. Between machines `zerofleet runs pack` and `unpack` carry the run. Each leg notes its wall
time, from the start of the process to the end of its last rating, in the run folder. `collect`
writes wall time, games, rows, ratings and price beside those of the published plan to
bench/results/published-run-DATE.json, and draws the ratings over time. Wall time counts what the
GPU was held for: compiling, training and ratings.
"""

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

START_S = time.monotonic()
BENCH = Path(__file__).parents[1]
sys.path[:0] = [str(BENCH), str(BENCH / "strength")]
from recording import ROOT, facts, record  # noqa: E402

import zerofleet as zf  # noqa: E402
from zerofleet import config  # noqa: E402
from zerofleet.runs.folder import find  # noqa: E402

GAME, PRESET = "beastybar", "published_run"
LEGS = "legs.jsonl"
PLAN = {
    "steps": 2000,
    "batch_size": 16384,
    "minutes": [30, 45],
    "usd": [82, 123],
    "usd_per_hour": 164.16,
    "gpus": "16 A10G, 8 H100",
    "cpu_cores": 768,
    "games_per_s": 61,
    "examples_per_game": 23,
    "training_samples_per_s": 50_000,
}
"""As published in 2025, at its own prices. Its figures are estimates, not measurements."""
USD_PER_HOUR = 98.32 / 8
"""A GPU of the plan's training node, p5.48xlarge with 8 H100. It has no price for an H200."""
PER_SESSION = {
    "simulations": "simulations",
    "inferences": "inferences",
    "gpu_busy_s": "device_busy_s",
    "training_s": "training_s",
    "self_play_waits_s": "waiting_to_play_s",
    "trainer_waits_s": "waiting_to_train_s",
}
"""Figures that sum over legs, by their name in a status record."""


# ---- a leg


def train(arguments):
    run = zf.train(
        GAME,
        preset=PRESET,
        run=arguments.run,
        minutes=arguments.minutes,
        settings=arguments.settings,
    )
    wall_s = time.monotonic() - START_S
    leg = facts(" ".join(["bench/gpu/published_run.py", *sys.argv[1:]]))
    with (run.folder / LEGS).open("a") as legs:
        legs.write(json.dumps(leg | {"wall_s": round(wall_s, 1)}) + "\n")
    print(f"leg of {wall_s / 60:.1f} minutes")


# ---- the figures


def read_lines(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def sessions_of(records):
    """The records of each leg: the clock of a leg begins at 0."""
    sessions, last_s = [[]], 0.0
    for each in records:
        if "elapsed_s" in each:
            if each["elapsed_s"] < last_s:
                sessions.append([])
            last_s = each["elapsed_s"]
        sessions[-1].append(each)
    return sessions


def ratings_of(sessions, legs):
    """Each with the minutes of all legs until its weights were made; the games came later."""
    before_s, found = 0.0, []
    names = ("step", "opponent", "games", "score", "low", "high", "simulations")
    for session, leg in zip(sessions, legs, strict=True):
        statuses = [each for each in session if each["kind"] == "status"]
        for each in session:
            if each["kind"] == "rating":
                since = (one["elapsed_s"] for one in statuses if one["step"] >= each["step"])
                made_s = next(since, each["elapsed_s"])
                minutes = round((before_s + made_s) / 60, 2)
                found.append({"minutes": minutes} | {name: each[name] for name in names})
        before_s += leg["wall_s"]
    return found


def figures_of(run, usd_per_hour):
    legs = read_lines(run.folder / LEGS)
    sessions = sessions_of(read_lines(run.folder / "metrics.jsonl"))
    last = [[each for each in session if each["kind"] == "status"][-1] for session in sessions]
    newest, wall_s = last[-1], sum(leg["wall_s"] for leg in legs)
    ratings = ratings_of(sessions, legs)
    settings = config.load(GAME, PRESET)
    return {
        "steps": newest["step"],
        "planned_steps": settings.stop.steps,
        "samples": newest["samples"],
        "games": newest["games"],
        "rows": newest["rows"],
        "wall_s": wall_s,
        "minutes": wall_s / 60,
        "gpu_s": wall_s,
        "games_per_s": newest["games"] / wall_s,
        "samples_per_s": newest["samples"] / wall_s,
        **{name: sum(each[key] for each in last) for name, key in PER_SESSION.items()},
        "usd_per_hour": usd_per_hour,
        "usd": usd_per_hour * wall_s / 3600,
        "plan": PLAN,
        "plan_minutes_for_these_games": newest["games"] / PLAN["games_per_s"] / 60,
        "final_ratings": [each for each in ratings if each["step"] == newest["step"]],
        "ratings": ratings,
        "legs": legs,
    }


def table_of(found):
    low, high = PLAN["minutes"]
    cheap, dear = PLAN["usd"]
    lines = [
        f"{found['steps']:,} of {found['planned_steps']:,} steps of {PLAN['batch_size']:,}: "
        f"{found['minutes']:.1f} minutes on one GPU (plan {low}-{high} on {PLAN['gpus']})",
        f"${found['usd']:.2f} at ${found['usd_per_hour']:.2f} an hour (plan ${cheap}-{dear} at "
        f"${PLAN['usd_per_hour']})",
        f"{found['games']:,} games, {found['rows']:,} rows, {found['games_per_s']:.0f} games/s "
        f"over all (plan {PLAN['games_per_s']})",
    ]
    return lines + [
        f"{each['opponent']:12} {each['score']:.1%} ({each['low']:.1%} to {each['high']:.1%}) of "
        f"{each['games']} games"
        for each in found["final_ratings"]
    ]


def draw(found, path):
    """The score against each opponent over the minutes of all legs."""
    from matplotlib.figure import Figure
    from matplotlib.ticker import PercentFormatter
    from plot import COLOURS, LABEL_GAP, bare_axes

    by_opponent = {}
    for each in found["ratings"]:
        by_opponent.setdefault(each["opponent"], []).append(each)
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    axes = bare_axes(figure)
    axes.set_xlim(0, found["minutes"])
    axes.set_ylim(0, 1)
    axes.set_xlabel("minutes on one GPU")
    axes.set_ylabel("score against")
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    ends, styles = [], itertools.product(("-", "--"), COLOURS)
    for (style, colour), (opponent, ratings) in zip(styles, by_opponent.items(), strict=False):
        minutes = [each["minutes"] for each in ratings]
        low, high = ([each[end] for each in ratings] for end in ("low", "high"))
        scores = [each["score"] for each in ratings]
        axes.fill_between(minutes, low, high, color=colour, alpha=0.12, linewidth=0)
        axes.plot(minutes, scores, style, color=colour, marker="o", markersize=3, clip_on=False)
        ends.append((scores[-1], opponent, colour))
    highest = 1 + LABEL_GAP
    for score, opponent, colour in sorted(ends, reverse=True):
        highest = min(score, highest - LABEL_GAP)
        axes.text(1.02, highest, opponent, color=colour, va="center", transform=axes.transAxes)
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def collect(arguments):
    found = figures_of(find(arguments.run), arguments.usd_per_hour)
    found["table"] = table_of(found)
    print("\n".join(found["table"]))
    if arguments.plot is not None:
        draw(found, arguments.plot)
    if not arguments.no_record:
        command = " ".join(["bench/gpu/published_run.py", *sys.argv[1:]])
        record("published-run", command, found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("train", "collect"))
    parser.add_argument("--run", default="published-run")
    parser.add_argument("--minutes", type=float, help="of this leg; default: to the last step")
    parser.add_argument("--set", dest="settings", action="append", default=[], help="of the run")
    parser.add_argument("--usd-per-hour", type=float, default=USD_PER_HOUR, help="of the machine")
    parser.add_argument(
        "--plot", type=Path, default=ROOT / "docs" / "strength" / "published-run.svg"
    )
    parser.add_argument("--no-record", action="store_true", help="print and draw only")
    arguments = parser.parse_args()
    train(arguments) if arguments.what == "train" else collect(arguments)


if __name__ == "__main__":
    main()
