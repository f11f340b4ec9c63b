"""What stands in the table of a run that trains: records as short texts."""

import math
from dataclasses import dataclass

from zerofleet.config import Config
from zerofleet.metrics import Record

LEAST_PACE_S = 1.0
"""Statuses that are closer together make no pace."""
GROWING = (
    *("elapsed_s", "step", "games", "positions", "simulations", "inferences"),
    *("rows_computed", "device_busy_s", "inference_s", "search_s", "waiting_to_play_s"),
    *("training_s", "intake_s", "waiting_to_train_s"),
)
"""What a status counts up."""
LEAST_SHARE_SHOWN = 0.005
UNKNOWN = "-"


@dataclass(frozen=True)
class Pace:
    """What happened between two statuses."""

    games_per_s: float
    positions_per_s: float
    simulations_per_s: float
    inferences_per_s: float
    steps_per_s: float
    device_busy: float
    """Share of the time in which what evaluates had something to do; of several, their sum."""
    batch_fill: float
    """Share of the rows computed that somebody had asked for."""
    self_play_waits: float
    """Share of the workers' time."""
    trainer_waits: float

    @staticmethod
    def between(statuses: list[Record]) -> "Pace | None":
        if len(statuses) < 2:
            return None
        before, after = statuses
        gained = {name: after[name] - before[name] for name in GROWING}
        return Pace(
            games_per_s=gained["games"] / gained["elapsed_s"],
            positions_per_s=gained["positions"] / gained["elapsed_s"],
            simulations_per_s=gained["simulations"] / gained["elapsed_s"],
            inferences_per_s=gained["inferences"] / gained["elapsed_s"],
            device_busy=gained["device_busy_s"] / gained["elapsed_s"],
            batch_fill=gained["inferences"] / max(1, gained["rows_computed"]),
            steps_per_s=gained["step"] / gained["elapsed_s"],
            self_play_waits=share(gained, "waiting_to_play_s", "inference_s", "search_s"),
            trainer_waits=share(gained, "waiting_to_train_s", "training_s", "intake_s"),
        )


def earlier(statuses: list[Record], newest: Record) -> list[Record]:
    """The status to compare a new one with: the last that is at least a second older."""
    return [
        status for status in statuses if newest["elapsed_s"] - status["elapsed_s"] >= LEAST_PACE_S
    ][-1:]


def share(seconds: dict[str, float], part: str, *others: str) -> float:
    total = sum(seconds[name] for name in (part, *others))
    return seconds[part] / total if total > 0 else 0.0


# ---- what stands in the cells


def self_play_cells(
    status: Record | None, pace: Pace | None, config: Config
) -> tuple[str, str, str]:
    if status is None:
        # A deterministic run has no status: clocks are not the same every time.
        return UNKNOWN, "by turns" if config.run.deterministic else "starting", ""
    if pace is None:
        return f"{status['games']:,} games", UNKNOWN, ""
    return (
        f"{status['games']:,} games",
        f"{rate_text(pace.games_per_s, 'game')}\n{pace.simulations_per_s:,.0f} simulations/s",
        waits_text(pace.self_play_waits, "trainer"),
    )


def inference_cells(status: Record | None, pace: Pace | None) -> tuple[str, str, str]:
    if status is None or pace is None:
        return UNKNOWN, "", ""
    return (
        f"{status['inferences']:,} positions",
        f"{pace.inferences_per_s:,.0f} positions/s",
        f"busy {pace.device_busy:.0%}, fill {pace.batch_fill:.0%}" + gpu_line(status),
    )


def gpu_line(status: Record) -> str:
    """What the GPUs draw and hold, on a line of its own, where their driver tells."""
    if "gpu_watts" not in status:
        return ""
    used, total = (status[name] / 2**30 for name in ("gpu_memory_bytes", "gpu_memory_total_bytes"))
    return f"\n{status['gpu_watts']:,.0f} W, {used:,.0f} of {total:,.0f} GiB"


def replay_cells(status: Record | None, config: Config) -> tuple[str, str, str]:
    if status is None:
        return UNKNOWN, "", ""
    least = config.replay.least_positions
    filling = status["positions"] < least
    return (
        f"{status['positions']:,} positions",
        f"window {min(1, status['window'] / config.replay.window_positions):.0%} full",
        f"waits for {least:,}" if filling else "",
    )


def trainer_cells(num_steps: int, pace: Pace | None) -> tuple[str, str, str]:
    if pace is None:
        return f"{num_steps:,} steps", UNKNOWN, ""
    return (
        f"{num_steps:,} steps",
        rate_text(pace.steps_per_s, "step"),
        waits_text(pace.trainer_waits, "self-play"),
    )


def rating_rows(ratings: list[Record]) -> list[tuple[str, str, str, str]]:
    if not ratings:
        return [("rating", "not yet", "", "")]
    return [
        (
            "" if number else "rating",
            f"{rating['score']:.1%} against {rating['opponent']}",
            f"{rating['low']:.1%} to {rating['high']:.1%}",
            f"{rating['games']:,} games, step {rating['step']:,}",
        )
        for number, rating in enumerate(ratings)
    ]


def losses_text(record: Record) -> str:
    """The total loss, then its parts."""
    if not record:
        return f"loss {UNKNOWN}"
    parts = [
        f"{name.removeprefix('loss/')} {value:.3f}"
        for name, value in record.items()
        if name.startswith("loss/") and value is not None
    ]
    total = record["loss"]
    return "  ".join([f"loss {UNKNOWN if total is None else f'{total:.3f}'}", *parts])


def waits_text(waiting_share: float, whom: str) -> str:
    if waiting_share < LEAST_SHARE_SHOWN:
        return "does not wait"
    return f"waits {waiting_share:.0%} for {whom}"


def rate_text(per_s: float, what: str) -> str:
    """Per minute where a second has less than one."""
    if 0 < per_s < 1:
        return f"{per_s * 60:.1f} {what}s/min"
    return f"{per_s:,.1f} {what}s/s"


def left_text(config: Config, status: Record | None, pace: Pace | None, elapsed_s: float) -> str:
    """Until the limit of the run that comes first, at the pace of now."""
    stop = config.stop
    seconds = [] if stop.minutes is None else [stop.minutes * 60 - elapsed_s]
    if status is not None and pace is not None:
        seconds += [
            (limit - reached) / per_s
            for limit, reached, per_s in (
                (stop.steps, status["step"], pace.steps_per_s),
                (stop.games, status["games"], pace.games_per_s),
                (stop.positions, status["positions"], pace.positions_per_s),
            )
            if limit is not None and per_s > 0
        ]
    if seconds:
        return f"{clock_text(math.ceil(max(0.0, min(seconds))))} left"
    if (stop.steps, stop.games, stop.positions) == (None, None, None):
        return "Ctrl-C ends it"
    return "time left not known yet"


def clock_text(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, whole_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_s:02}" if hours else f"{minutes}:{whole_s:02}"
