"""The cells of the live table: records as short texts."""

import math

from zerofleet.config import Config
from zerofleet.fleet.screen import gpu_texts
from zerofleet.fleet.throughput import Throughput
from zerofleet.metrics import PARTS_OF_POLICY_LOSS, Record

MIN_SHARE_SHOWN = 0.005
UNKNOWN = "-"


def self_play_cells(
    status: Record | None, pace: Throughput | None, config: Config
) -> tuple[str, str, str]:
    if status is None:
        # No status yet.
        return UNKNOWN, "lockstep" if config.run.deterministic else "starting", ""
    so_far = f"{status['games']:,} games"
    if status["truncated"]:
        so_far += f"\n{status['truncated']:,} truncated"
    if pace is None:
        return so_far, UNKNOWN, ""
    return (
        so_far,
        f"{throughput_text(pace.games_per_s, 'game')}\n{pace.simulations_per_s:,.0f} simulations/s",
        f"{waits_text(pace.self_play_waits, 'trainer')}\nsearch {pace.search:.0%}",
    )


def inference_cells(status: Record | None, pace: Throughput | None) -> tuple[str, str, str]:
    if status is None or pace is None:
        return UNKNOWN, "", ""
    return (
        f"{status['inferences']:,} leaves",
        f"{pace.inferences_per_s:,.0f} leaves/s\nqueue {1000 * pace.queue_s:.1f} ms",
        "\n".join([f"busy {pace.device_busy:.0%}, fill {pace.batch_fill:.0%}", *gpu_texts(status)]),
    )


def replay_cells(status: Record | None, config: Config) -> tuple[str, str, str]:
    if status is None:
        return UNKNOWN, "", ""
    least = config.replay.min_rows
    filling = status["rows"] < least
    return (
        f"{status['rows']:,} rows",
        f"buffer {min(1, status['buffer_rows'] / config.replay.capacity_rows):.0%} full",
        f"waits for {least:,}" if filling else "",
    )


def trainer_cells(num_steps: int, pace: Throughput | None) -> tuple[str, str, str]:
    if pace is None:
        return f"{num_steps:,} steps", UNKNOWN, ""
    return (
        f"{num_steps:,} steps",
        f"{throughput_text(pace.steps_per_s, 'step')}\n{pace.samples_per_s:,.0f} samples/s",
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
    """The total loss and its terms; the policy loss also as target entropy and KL."""
    if not record:
        return f"loss {UNKNOWN}"
    parts = [
        f"{name.removeprefix('loss/')} {value:.3f}"
        for name, value in record.items()
        if name.startswith("loss/") and value is not None
    ]
    parts += [
        f"{title} {record[name]:.3f}"
        for name, title in PARTS_OF_POLICY_LOSS.items()
        if record.get(name) is not None
    ]
    total = record["loss"]
    return "  ".join([f"loss {UNKNOWN if total is None else f'{total:.3f}'}", *parts])


def waits_text(waiting_share: float, whom: str) -> str:
    if waiting_share < MIN_SHARE_SHOWN:
        return "does not wait"
    return f"waits {waiting_share:.0%} for {whom}"


def throughput_text(per_s: float, what: str) -> str:
    """Per second, or per minute below one per second."""
    if 0 < per_s < 1:
        return f"{per_s * 60:.1f} {what}s/min"
    return f"{per_s:,.1f} {what}s/s"


def left_text(
    config: Config, status: Record | None, pace: Throughput | None, elapsed_s: float
) -> str:
    """Time left until the first stop condition, at the current pace."""
    stop = config.stop
    seconds = [] if stop.minutes is None else [stop.minutes * 60 - elapsed_s]
    if status is not None and pace is not None:
        seconds += [
            (limit - reached) / per_s
            for limit, reached, per_s in (
                (stop.steps, status["step"], pace.steps_per_s),
                (stop.games, status["games"], pace.games_per_s),
                (stop.rows, status["rows"], pace.rows_per_s),
            )
            if limit is not None and per_s > 0
        ]
    if seconds:
        return f"{clock_text(math.ceil(max(0.0, min(seconds))))} left"
    if (stop.steps, stop.games, stop.rows) == (None, None, None):
        return "Ctrl-C stops it"
    return "time left unknown"


def clock_text(seconds: float) -> str:
    """1:02:03, or 2:03."""
    minutes, whole_s = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{whole_s:02}" if hours else f"{minutes}:{whole_s:02}"
