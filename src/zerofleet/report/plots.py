"""The plots of a report, as PNG bytes.

The background is transparent and text is grey, so that plots read on light and dark pages.
"""

from collections.abc import Callable, Mapping, Sequence
from io import BytesIO
from itertools import cycle, pairwise
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from zerofleet.arena.ratings import START
from zerofleet.metrics import PARTS_OF_POLICY_LOSS, Record
from zerofleet.report.data import Opening, RunData, opening_tree
from zerofleet.report.elo import elo_curve, opponents_in

GREY = "#808080"
EDGE: dict[str, Any] = {"edgecolor": "#00000066", "linewidth": 0.5}
COLOURS = ("#1f9480", "#c8762a", "#9069c4", "#3b82c4", "#c9517a", "#8a8d2f")
"""The order and hues of the dashboard (web/src/styles/tokens.css), between its light and dark."""
RESULT_COLOURS = LinearSegmentedColormap.from_list("result", ["#c8762a", "#97938a", "#1f9480"])
DOTS_PER_INCH = 110
OPENING_PLIES = 4
MIN_SHARE_DRAWN = 0.01
"""Of the games; rarer openings are left blank."""
MIN_SHARE_NAMED = 0.035
"""Smaller boxes have no room for a label."""


def plots(data: RunData) -> dict[str, bytes]:
    """The plots that this run has data for, by file name."""
    drawn: dict[str, tuple[bool, Callable[[RunData], Figure]]] = {
        "strength": (bool(data.ratings), strength),
        "losses": (bool(data.losses), losses),
        "game-length": (bool(data.sampled_games), game_length),
        "openings": (data.sample is not None, openings),
        "throughput": (len(data.statuses) > 1, throughput),
    }
    return {name: png(draw(data)) for name, (there, draw) in drawn.items() if there}


def strength(data: RunData) -> Figure:
    """Elo at the top, score against each opponent at the bottom; over time and over games."""
    figure, (elo_over_time, elo_over_games, over_time, over_games) = panels(2, 2, height=5.8)
    curve = elo_curve(data.ratings)
    assert curve is not None
    steps = curve.steps
    minutes, games = [each.trained_s / 60 for each in steps], [each.run_games for each in steps]
    elo = [each.elo for each in steps]
    low, high = ([each.elo + sign * each.error for each in steps] for sign in (-1, 1))
    for axes, along in ((elo_over_time, minutes), (elo_over_games, games)):
        draw_with_interval(axes, along, elo, low, high, COLOURS[0], "this run")
        for opponent, opponents_elo in curve.opponents.items():
            if opponent != START:  # the curve itself begins there
                axes.axhline(opponents_elo, color=GREY, linewidth=0.8, linestyle=":")
            axes.annotate(
                opponent,
                (0, opponents_elo),
                (3, 1),
                textcoords="offset points",
                color=GREY,
                fontsize=7,
            )
    elo_over_time.set_ylabel(f"Elo ({curve.anchor} = 0)")

    for number, opponent in enumerate(opponents_in(data.ratings)):
        records = [each for each in data.ratings if each["opponent"] == opponent]
        score, low, high = ([each[name] for each in records] for name in ("score", "low", "high"))
        colour = COLOURS[number % len(COLOURS)]
        minutes = [each["trained_s"] / 60 for each in records]
        games = [each["run_games"] for each in records]
        if opponent == START and records[0]["step"] > 0:  # at step 0 the run is this opponent
            minutes, games = [0, *minutes], [0, *games]
            score, low, high = ([0.5, *values] for values in (score, low, high))
        draw_with_interval(over_time, minutes, score, low, high, colour, opponent)
        draw_with_interval(over_games, games, score, low, high, colour, opponent)
    for axes, title in ((over_time, "minutes trained"), (over_games, "games played")):
        axes.set_xlabel(title)
        axes.set_ylim(0, 1.02)
        axes.axhline(0.5, color=GREY, linewidth=0.8, linestyle=":")
    for axes in (elo_over_time, elo_over_games, over_time, over_games):
        axes.set_xlim(left=0)
    over_time.set_ylabel("score against")
    put_legend(over_time)
    return figure


def draw_with_interval(
    axes: Axes,
    along: Sequence[float],
    value: Sequence[float],
    low: Sequence[float],
    high: Sequence[float],
    colour: str,
    label: str,
) -> None:
    axes.plot(along, value, color=colour, marker="o", markersize=3, label=label)
    axes.fill_between(along, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.vlines(along, low, high, color=colour, alpha=0.6, linewidth=1)


def losses(data: RunData) -> Figure:
    figure, (axes,) = panels(1, 1)
    names = [name for name in data.losses[-1] if name == "loss" or name.startswith("loss/")]
    lines = [
        (name, name.removeprefix("loss/"), colour, "-")
        for colour, name in zip(cycle(COLOURS), names, strict=False)
    ]
    parts = zip(PARTS_OF_POLICY_LOSS.items(), ("--", ":"), strict=True)
    lines += [(name, title, GREY, style) for (name, title), style in parts]
    for name, title, colour, style in lines:
        drawn = [record for record in data.losses if record.get(name) is not None]
        if drawn:
            steps, values = [each["step"] for each in drawn], [each[name] for each in drawn]
            axes.plot(steps, values, color=colour, linestyle=style, label=title)
    axes.set_xlabel("training step")
    axes.set_ylabel("loss")
    axes.set_ylim(bottom=min(0, axes.get_ylim()[0]))  # a custom term may be negative
    put_legend(axes)
    return figure


def game_length(data: RunData) -> Figure:
    """Plies per game over time; dots are games, the line is their mean."""
    figure, (axes,) = panels(1, 1)
    numbers = np.array([each.number for each in data.sampled_games])
    plies = np.array([len(each.episode.events) for each in data.sampled_games])
    minutes = minutes_of_games(data.statuses, numbers)
    axes.plot(minutes, plies, ".", color=COLOURS[0], alpha=0.25, markersize=3)
    groups = np.array_split(np.arange(len(plies)), max(1, min(40, len(plies) // 10)))
    middle = [minutes[group].mean() for group in groups]
    axes.plot(middle, [plies[group].mean() for group in groups], color=COLOURS[1], label="mean")
    axes.set_xlabel("minutes trained" if data.statuses else "games played")
    axes.set_ylabel("plies per game")
    axes.set_ylim(bottom=0)
    put_legend(axes)
    return figure


def minutes_of_games(statuses: Sequence[Record], numbers: np.ndarray) -> np.ndarray:
    """When games finished, interpolated between statuses; without any, their numbers."""
    if not statuses:
        return numbers
    counts = [0, *(each["games"] for each in statuses)]
    minutes = [0.0, *(each["trained_s"] / 60 for each in statuses)]
    return np.asarray(np.interp(numbers, counts, minutes))


def openings(data: RunData) -> Figure:
    """Columns are plies, heights are shares of games, colours the result for the first mover."""
    figure, (axes,) = panels(1, 1, height=4.6)
    root = opening_tree(data.newest_games, data.game, OPENING_PLIES)
    best = max(outcome.reward for outcome in data.game.outcomes)

    def draw(node: Opening, column: int, top: float) -> None:
        for text, following in node.most_played():
            height = following.num_games / root.num_games
            if height < MIN_SHARE_DRAWN:
                return
            colour = RESULT_COLOURS((following.mean_beginner / best + 1) / 2)
            box = Rectangle((column, top - height), 1, height, facecolor=colour, **EDGE)
            axes.add_patch(box)
            if height >= MIN_SHARE_NAMED:
                label = f"{text}  {height:.0%}  {following.mean_beginner:+.2f}"
                axes.text(column + 0.03, top - height / 2, label, va="center", color="black")
            draw(following, column + 1, top)
            top -= height

    draw(root, 0, 1.0)
    axes.set_xlim(0, OPENING_PLIES)
    axes.set_ylim(0, 1)
    axes.set_xticks(
        [ply + 0.5 for ply in range(OPENING_PLIES)],
        [f"ply {ply + 1}" for ply in range(OPENING_PLIES)],
    )
    axes.set_ylabel("share of games")
    axes.grid(visible=False)
    return figure


def throughput(data: RunData) -> Figure:
    """Throughput between statuses of one session, and the share of time that each side waits."""
    with_gpu = [each for each in data.statuses if "gpu_busy" in each]
    num_rows, height = (4, 8) if with_gpu else (3, 6.2)
    figure, (games, steps, waits, *gpu) = panels(num_rows, 1, height)
    pairs = [
        (before, after)
        for before, after in pairwise(data.statuses)
        if after["elapsed_s"] > before["elapsed_s"] and after["games"] >= before["games"]
    ]
    minutes = [after["trained_s"] / 60 for _, after in pairs]

    def gained(name: str) -> np.ndarray:
        return np.array([after[name] - before[name] for before, after in pairs], dtype=float)

    seconds = gained("elapsed_s")
    games.plot(minutes, gained("games") / seconds, color=COLOURS[0])
    games.set_ylabel("games/s")
    steps.plot(minutes, gained("step") / seconds, color=COLOURS[1])
    steps.set_ylabel("steps/s")
    playing = gained("inference_s") + gained("search_s")
    training = gained("training_s") + gained("intake_s")
    for label, waiting, working, colour in (
        ("self-play waits", gained("waiting_to_play_s"), playing, COLOURS[0]),
        ("trainer waits", gained("waiting_to_train_s"), training, COLOURS[1]),
    ):
        shares = waiting / np.maximum(waiting + working, 1e-9)
        waits.plot(minutes, shares, color=colour, label=label)
    waits.set_ylabel("share of time")
    waits.set_ylim(0, 1.02)
    waits.set_xlabel("minutes trained")
    put_legend(waits)
    for axes in (games, steps):
        axes.set_ylim(bottom=0)
    for axes in gpu:
        draw_gpu(axes, with_gpu)
    return figure


def draw_gpu(axes: Axes, statuses: Sequence[Record]) -> None:
    """Utilisation and memory of the GPUs at each status."""
    minutes = [each["trained_s"] / 60 for each in statuses]
    memory = [each["gpu_memory_bytes"] / each["gpu_memory_total_bytes"] for each in statuses]
    axes.plot(minutes, [each["gpu_busy"] for each in statuses], color=COLOURS[2], label="GPU busy")
    axes.plot(minutes, memory, color=COLOURS[3], label="GPU memory in use")
    axes.set_ylabel("share")
    axes.set_ylim(0, 1.02)
    axes.set_xlabel("minutes trained")
    put_legend(axes)


def learning_curves(curves: Mapping[str, Mapping[int, float]]) -> bytes:
    """Loss over training steps, a line per run."""
    figure, (axes,) = panels(1, 1, height=3.0)
    for colour, (name, curve) in zip(COLOURS, curves.items(), strict=False):
        axes.plot(list(curve), list(curve.values()), "o-", color=colour, label=name, markersize=4)
    axes.set_xlabel("training step")
    axes.set_ylabel("loss on the same games")
    put_legend(axes)
    return png(figure)


# ---- drawing


def panels(rows: int, columns: int, height: float = 3.4) -> tuple[Figure, list[Axes]]:
    figure = Figure(figsize=(9, height), layout="constrained")
    figure.patch.set_alpha(0)
    found = [figure.add_subplot(rows, columns, number + 1) for number in range(rows * columns)]
    for axes in found:
        axes.patch.set_alpha(0)
        axes.tick_params(colors=GREY)
        axes.xaxis.label.set_color(GREY)
        axes.yaxis.label.set_color(GREY)
        axes.grid(color=GREY, alpha=0.25, linewidth=0.6)
        for side, spine in axes.spines.items():
            spine.set_visible(side in ("left", "bottom"))
            spine.set_color(GREY)
    return figure, found


def put_legend(axes: Axes) -> None:
    """Places the legend above the curves, so that it hides none."""
    axes.legend(
        loc="lower left",
        bbox_to_anchor=(0, 1),
        ncols=len(COLOURS),
        frameon=False,
        labelcolor=GREY,
    )


def png(figure: Figure) -> bytes:
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return file.getvalue()
