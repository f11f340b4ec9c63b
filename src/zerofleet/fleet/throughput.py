"""Throughput of a run between two of its statuses."""

from dataclasses import dataclass

from zerofleet.metrics import Record

MIN_INTERVAL_S = 1.0
"""Statuses closer together than this give no throughput."""
GROWING = (
    *("elapsed_s", "step", "games", "rows", "samples", "simulations", "inferences"),
    *("batches", "rows_computed", "device_busy_s", "device_queue_s"),
    *("inference_s", "search_s", "waiting_to_play_s"),
    *("training_s", "intake_s", "waiting_to_train_s"),
)
"""The counters of a status."""


@dataclass(frozen=True)
class Throughput:
    """Throughput and shares of time between two statuses."""

    games_per_s: float
    rows_per_s: float
    simulations_per_s: float
    inferences_per_s: float
    steps_per_s: float
    samples_per_s: float
    device_busy: float
    """Share of the time that the inference device was busy; summed over devices."""
    batch_fill: float
    """Share of the computed rows that were requested; the rest is padding."""
    queue_s: float
    """Mean time of a batch in the device's queue."""
    search: float
    """Share of the workers' time spent in search; with search threads: waiting for them."""
    self_play_waits: float
    """Share of the workers' time spent waiting for the trainer."""
    trainer_waits: float

    @staticmethod
    def between(statuses: list[Record]) -> "Throughput | None":
        if len(statuses) < 2:
            return None
        before, after = statuses
        gained = {name: after[name] - before[name] for name in GROWING}
        return Throughput(
            games_per_s=gained["games"] / gained["elapsed_s"],
            rows_per_s=gained["rows"] / gained["elapsed_s"],
            simulations_per_s=gained["simulations"] / gained["elapsed_s"],
            inferences_per_s=gained["inferences"] / gained["elapsed_s"],
            steps_per_s=gained["step"] / gained["elapsed_s"],
            samples_per_s=gained["samples"] / gained["elapsed_s"],
            device_busy=gained["device_busy_s"] / gained["elapsed_s"],
            batch_fill=gained["inferences"] / max(1, gained["rows_computed"]),
            queue_s=gained["device_queue_s"] / max(1, gained["batches"]),
            search=share(gained, "search_s", "inference_s", "waiting_to_play_s"),
            self_play_waits=share(gained, "waiting_to_play_s", "inference_s", "search_s"),
            trainer_waits=share(gained, "waiting_to_train_s", "training_s", "intake_s"),
        )


def earlier(statuses: list[Record], newest: Record) -> list[Record]:
    """The status to compare a new one with: the last one at least MIN_INTERVAL_S older."""
    return [
        status for status in statuses if newest["elapsed_s"] - status["elapsed_s"] >= MIN_INTERVAL_S
    ][-1:]


def share(seconds: dict[str, float], part: str, *others: str) -> float:
    total = sum(seconds[name] for name in (part, *others))
    return seconds[part] / total if total > 0 else 0.0
