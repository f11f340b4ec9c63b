"""The display of a run in progress.

A screen is a metrics sink that can also print messages. PlainScreen prints lines, for files and
pipes; zerofleet.cli.live draws a table on terminals.
"""

from typing import Protocol

from zerofleet.fleet.throughput import Throughput, earlier
from zerofleet.metrics import Record, Sink
from zerofleet.printing import say


class Screen(Sink, Protocol):
    """Shows records and messages, from any thread."""

    def say(self, text: str) -> None:
        """Prints a message: what changed or went wrong, and how to resume."""

    def show_doing(self, text: str) -> None:
        """Shows what is in flight besides self-play and training; empty for nothing."""


class PlainScreen:
    """A line per status and per rating. Throughput and shares cover the time since the last
    status."""

    def __init__(self) -> None:
        self._statuses: list[Record] = []
        """The newest two at most."""

    def write(self, record: Record) -> None:
        if record["kind"] == "status":
            self._statuses = [*earlier(self._statuses, record), record]
            self.say(status_line(record, Throughput.between(self._statuses)))
        elif record["kind"] == "rating":
            self.say(rating_line(record))

    def rewind(self, step: int) -> None:
        """Printed lines stay."""

    def close(self) -> None:
        """Nothing to close."""

    def say(self, text: str) -> None:
        say(text, flush=True)

    def show_doing(self, text: str) -> None:
        """Omitted: printed lines stay, and this is transient."""


def status_line(status: Record, pace: Throughput | None) -> str:
    loss = status["loss"]
    parts = [
        f"{status['elapsed_s'] / 60:.1f} min",
        f"step {status['step']:,}",
        f"{status['games']:,} games",
        f"{short_text(status['rows'])} rows",
        f"loss {'-' if loss is None else f'{loss:.3f}'}",
    ]
    if pace is not None:
        parts += [
            f"{short_text(pace.games_per_s)} games/s",
            f"{short_text(pace.inferences_per_s)} inferences/s",
            f"{short_text(pace.samples_per_s)} samples/s",
            f"busy {pace.device_busy:.0%} fill {pace.batch_fill:.0%}",
            f"search {pace.search:.0%} queue {1000 * pace.queue_s:.1f} ms",
        ]
    if gpu := gpu_texts(status):
        parts.append(" ".join(gpu))
    if status["truncated"]:
        parts.append(f"{status['truncated']:,} truncated")
    parts.append(f"waiting: {status['waiting']}")
    return "; ".join([", ".join(parts), *filter(None, [status["stall"]])])


def gpu_texts(status: Record) -> list[str]:
    """Utilisation, power and memory of the GPUs, if their driver reports them."""
    if "gpu_watts" not in status:
        return []
    used, total = (status[name] / 2**30 for name in ("gpu_memory_bytes", "gpu_memory_total_bytes"))
    return [
        f"GPU {status['gpu_busy']:.0%} {status['gpu_watts']:,.0f} W",
        f"{used:,.0f} of {total:,.0f} GiB",
    ]


def short_text(number: float) -> str:
    """In three digits: 0.25, 87, 4.82k, 1.11M, 2.3G."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.3g}"


def rating_line(record: Record) -> str:
    return (
        f"rated step {record['step']:,}: {record['score']:.1%} against {record['opponent']} "
        f"({record['low']:.1%} to {record['high']:.1%}, {record['games']:,} games)"
    )
