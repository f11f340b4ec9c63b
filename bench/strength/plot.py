"""Plots the results of rate.py and writes docs/strength.md.

    .venv/bin/python bench/strength/plot.py [--results FOLDER] [--docs FOLDER] [--weights FOLDER]

Takes the newest result of each variant, bench/results/strength-VARIANT-DATE.json, and ignores those
without measurements of rate.py. Writes docs/strength/VARIANT.svg and docs/strength.md. The
background is transparent and text is grey, so plots are readable on light and dark pages.
"""

import argparse
import itertools
import json
from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import EngFormatter, MaxNLocator, PercentFormatter, ScalarFormatter
from page import page_text
from plan import PLANS
from series import curves

ROOT = Path(__file__).parents[2]
GREY = "#808080"
COLOURS = ("#3b82c4", "#d9782d", "#2f9e77")
LABEL_GAP = 0.06
"""Between two labels at the right, as a fraction of the height."""

# Text as paths looks the same everywhere; a fixed salt makes the output deterministic.
matplotlib.rcParams |= {"svg.fonttype": "path", "svg.hashsalt": "zerofleet", "font.size": 9}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs")
    parser.add_argument("--weights", type=Path, default=ROOT / "weights")
    given = parser.parse_args()
    results = newest_results(given.results)
    pictures = given.docs / "strength"
    pictures.mkdir(parents=True, exist_ok=True)
    for variant, result in results.items():
        draw(result, pictures / f"{variant}.svg")
        print(f"drew {pictures / f'{variant}.svg'}")
    (given.docs / "strength.md").write_text(page_text(results, given.weights))


def newest_results(folder):
    """By variant, in the order of the plans."""
    found = {}
    for path in sorted(folder.glob("strength-*.json")):
        result = json.loads(path.read_text())
        if "measured" in result and result["date"] >= found.get(result["variant"], result)["date"]:
            found[result["variant"]] = result
    return {variant: found[variant] for variant in PLANS if variant in found}


def draw(result, path):
    """Strength over minutes of training, and the games until then at the top; each series named at
    its end, marks as dotted lines."""
    plan = PLANS[result["variant"]]
    figure = Figure(figsize=(7.5, 4), layout="constrained")
    figure.patch.set_alpha(0)
    axes = bare_axes(figure)
    set_scale(axes, plan)
    longest = result["run"]["minutes"]
    axes.set_xlim(0, longest)
    axes.set_xlabel("minutes of training")
    add_games_axis(axes, result)
    ends = []
    for colour, (name, points) in zip(
        itertools.cycle(COLOURS), curves(result).items(), strict=False
    ):
        minutes = [point.minutes for point in points]
        values = [point.value for point in points]
        low, high = ([getattr(point, end) for point in points] for end in ("low", "high"))
        axes.fill_between(minutes, low, high, color=colour, alpha=0.18, linewidth=0)
        axes.plot(minutes, values, color=colour, marker="o", markersize=3.5, clip_on=False)
        ends.append((values[-1], name, colour))
        for mark in plan.marks:
            if mark.series == name:
                axes.axhline(mark.value, color=colour, linewidth=1, linestyle=":")
                # At the left, where no curve has reached it yet.
                at = (longest / 100, mark.value)
                axes.annotate(mark.text, at, color=colour, fontsize=8, va="bottom")
    put_labels(axes, ends)
    figure.savefig(path, format="svg", transparent=True, metadata={"Date": None})


def bare_axes(figure):
    axes = figure.add_subplot()
    axes.patch.set_alpha(0)
    axes.tick_params(which="both", colors=GREY)
    axes.xaxis.label.set_color(GREY)
    axes.yaxis.label.set_color(GREY)
    axes.grid(axis="y", color=GREY, alpha=0.2, linewidth=0.6)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
    return axes


def add_games_axis(axes, result):
    """The games of the run at each minute, at the top."""
    run = result["run"]
    known = {(each["minutes"], each["run_games"]) for each in result["measured"]}
    known |= {(0, 0), (run["minutes"], run["run_games"])}
    minutes, games = np.array(sorted(known)).T
    top = axes.secondary_xaxis(
        "top",
        functions=(
            lambda at: np.interp(at, minutes, games),
            lambda at: np.interp(at, games, minutes),
        ),
    )
    top.set_xlabel("games")
    # Not beyond the end of the run, where the number of games is not known.
    top.set_xticks([tick for tick in MaxNLocator(6).tick_values(0, games[-1]) if tick <= games[-1]])
    top.xaxis.set_major_formatter(EngFormatter(sep=" "))
    top.tick_params(colors=GREY)
    top.xaxis.label.set_color(GREY)
    top.spines["top"].set_color(GREY)


def set_scale(axes, plan):
    """Scores from 0 to 100 %; error rates, which fall a hundredfold, on a log scale."""
    if plan.judged:
        axes.set_yscale("log")
        axes.set_ylim(1, 300)
        axes.set_yticks([1, 2, 5, 10, 20, 50, 100, 200])
        axes.minorticks_off()
        axes.yaxis.set_major_formatter(ScalarFormatter())
        axes.set_ylabel("error per decision (lower is better)")
        return
    axes.set_ylim(0, 1)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    axes.set_ylabel("perfect moves" if plan.perfect_moves else "score against")


def put_labels(axes, ends):
    """Labels the curves at their ends, moved apart where they would overlap."""
    to_share = axes.transData + axes.transAxes.inverted()
    lowest = -1.0
    for value, name, colour in sorted(ends):
        share = to_share.transform((0, value))[1]
        lowest = max(share, lowest + LABEL_GAP)
        axes.text(1.02, lowest, name, color=colour, va="center", transform=axes.transAxes)


if __name__ == "__main__":
    main()
