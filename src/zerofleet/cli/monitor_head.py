"""The head of the monitor: connection, roles by kind, totals of the run, queue and weights."""

import math
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.table import Table
from rich.text import Text

from zerofleet.cli.monitor_columns import (
    LABEL,
    LATE,
    RED,
    UNKNOWN,
    WIDE,
    heading,
    kinds_of,
    one_line,
)
from zerofleet.fleet.fleet_status import FleetStatus
from zerofleet.fleet.monitor import NUM_TREND, TOTALS, TREND_S, FleetView
from zerofleet.fleet.screen import short_text
from zerofleet.printing import duration_text, size_text

LABEL_WIDTH = 9
MIN_BAR, MAX_BAR = 12, 40
MAX_VERSIONS = 4


@dataclass(frozen=True)
class Connection:
    """How the server is reached."""

    run: str
    address: str
    fault: str = ""
    """Why it cannot be reached; empty where it can."""


@dataclass(frozen=True)
class Gauge:
    """A bar of a share, which can be read without its colour."""

    share: float
    style: str

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        full, empty = "#." if options.ascii_only else "█░"
        num_full = math.ceil(min(1.0, self.share) * options.max_width)
        yield Text.assemble(
            (full * num_full, self.style), (empty * (options.max_width - num_full), "dim")
        )


@dataclass(frozen=True)
class Sparkline:
    """A trend: its newest points, the highest of all as high as a line."""

    points: Sequence[float]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        levels = " .:-=+*#" if options.ascii_only else "▁▂▃▄▅▆▇█"
        shown = self.points[-options.max_width :]
        highest = max(shown, default=0.0) or 1.0
        steps = [round(each / highest * (len(levels) - 1)) for each in shown]
        yield Text("".join(levels[step] for step in steps), style="green")


def line_of(left: Text, right: Text) -> Table:
    """Both on one line; what is too long on the left is truncated."""
    line = Table.grid(expand=True, padding=(0, 1, 0, 0))
    line.add_column(overflow="ellipsis", no_wrap=True, ratio=1)
    line.add_column(justify="right", no_wrap=True)
    line.add_row(left, right)
    return line


def connection_line(connection: Connection, view: FleetView | None, width: int) -> Table:
    run = Text(f" {connection.run} ", style="bold reverse")
    if connection.fault:
        left = Text.assemble(run, " ", (connection.fault, RED))
    elif view is None:
        left = Text.assemble(run, f" connecting to {connection.address}")
    else:
        left = Text.assemble(run, " ", ("connected", "green"), f" to {connection.address}")
    if view is None:
        return line_of(left, Text())
    clock = time.strftime("%H:%M:%S", time.localtime(view.status.read_at))
    if connection.fault:
        return line_of(left, Text(f"as of {clock}", style="bold"))
    server = server_text(view.status, is_long=width >= WIDE)
    return line_of(left, Text(f"{server}  {clock}", style="dim"))


def server_text(status: FleetStatus, is_long: bool) -> str:
    figures = status.figures
    parts = [status.server] if is_long or figures is None else []
    if figures is not None:
        limit = f" of {size_text(figures.max_memory_bytes)}" if figures.max_memory_bytes else ""
        parts.append(f"{size_text(figures.memory_bytes)}{limit}")
    return ", ".join(parts)


def head_lines(view: FleetView, width: int) -> Iterable[Table | Text]:
    yield counts_line(view)
    for note in notes(view):
        yield Text(one_line(note), style=LATE, overflow="ellipsis", no_wrap=True)
    yield Text()
    yield totals_table(view, width)
    yield queue_line(view, width)
    yield weights_line(view, width)
    yield Text()


def counts_line(view: FleetView) -> Table:
    """How many roles of each kind there are, and how many are gone."""
    parts: list[tuple[str, str]] = []
    if view.trainer is None:
        parts.append(("no trainer", RED))
    for kind in kinds_of(view.roles):
        if registered := view.of_kind(kind):
            parts.append((heading(kind, registered), "bold"))
        if num_gone := sum(each.is_gone for each in view.roles if each.entry.kind == kind):
            parts.append((f"{num_gone} {one_line(kind)}{'s' * (num_gone > 1)} gone", RED))
    if not view.roles:
        parts.append(("no role is registered", RED))
    left = Text("  ").join(Text(text, style=style) for text, style in parts)
    rates = [each.per_s["games"] for each in view.of_kind("worker") if "games" in each.per_s]
    played = f"workers play {short_text(sum(rates))} games/s" if rates else ""
    return line_of(left, Text(played))


def notes(view: FleetView) -> list[str]:
    """What holds up the whole fleet."""
    status = view.status
    found = ["the run has ended"] if status.has_ended else []
    if status.held:
        found.append(f"all workers are paused: {status.held}")
    if status.pace is not None and status.pace.paused:
        found.append(f"self-play is paused: {status.pace.paused}")
    return found


def totals_table(view: FleetView, width: int) -> Table:
    """Games, positions, samples and steps of the run; beside them loss, rating, waits and pace, and
    trends where there is room."""
    table = Table.grid(expand=True, padding=(0, 1, 0, 0))
    table.add_column(width=LABEL_WIDTH, style=LABEL)
    for title in ("per s", "per hour", "total"):
        table.add_column(width=max(7, len(title)), justify="right", no_wrap=True)
    table.add_column(width=LABEL_WIDTH, style=LABEL)
    table.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    trends: list[tuple[RenderableType, ...]] = [()] * (len(TOTALS) + 1)
    if width >= WIDE:
        table.add_column(width=9, style=LABEL)
        table.add_column(ratio=1, no_wrap=True)
        drawn = [(name, Sparkline(points)) for name, points in view.trends.items()]
        span = Text(f"last {duration_text(TREND_S * NUM_TREND)}", style="dim")
        trends = [("", span), *drawn, *[("", "")] * (len(TOTALS) - len(drawn))]
    titles = [Text(title, style="dim") for title in ("per s", "per hour", "total")]
    beside = [
        (" loss", loss_text(view)),
        (" rating", rating_text(view)),
        (" waits", waits_text(view)),
        (" pace", pace_text(view)),
        (" trainer", trainer_text(view)),
    ]
    table.add_row("", *titles, *beside[0], *trends[0])
    for name, fact, trend in zip(TOTALS, beside[1:], trends[1:], strict=True):
        total = view.totals.get(name)
        cells: list[str | Text] = [UNKNOWN] * 3
        if total is not None:
            per_hour = UNKNOWN if total.per_hour is None else short_text(total.per_hour)
            cells = [rate_text(total.per_s), per_hour, short_text(total.total)]
        table.add_row(name, *cells, *fact, *trend)
    return table


def rate_text(per_s: float | None) -> Text:
    if per_s is None:
        return Text(UNKNOWN)
    return Text(short_text(per_s), style=RED if per_s == 0 else "bold")


def loss_text(view: FleetView) -> str:
    counters = view.trainer_counters
    if "loss" not in counters:
        return UNKNOWN
    parts = [
        f"{name.removeprefix('losses/loss/')} {value:.3f}"
        for name, value in counters.items()
        if name.startswith("losses/loss/")
    ]
    return f"{counters['loss']:.3f}" + (f"  ({', '.join(parts)})" if parts else "")


def rating_text(view: FleetView) -> str:
    counters = view.trainer_counters
    scores = {
        name.removeprefix("rating_score/"): value
        for name, value in counters.items()
        if name.startswith("rating_score/")
    }
    if not scores:
        return "not yet"
    shown = [f"{score:.0%} {one_line(name)}" for name, score in scores.items()]
    return f"{', '.join(shown)} (step {counters.get('rating_step', 0):,.0f})"


def waits_text(view: FleetView) -> str:
    """Who waits for whom."""
    training = view.share_of("trainer", "waiting_to_train_s")
    playing = view.share_of("worker", "waiting_to_play_s")
    parts = [] if training is None else [f"trainer {training:.0%}"]
    parts += [] if playing is None else [f"workers {playing:.0%}"]
    return f"{', '.join(parts)} of the time" if parts else UNKNOWN


def pace_text(view: FleetView) -> str | Text:
    pace = view.status.pace
    if pace is None:
        return Text("none: workers play ahead", style=LATE)
    left = pace.rows_allowed - pace.rows_inserted
    if left < 0:
        return f"self-play waits, {short_text(-left)} rows ahead"
    return f"{short_text(left)} more rows may be played"


def trainer_text(view: FleetView) -> str | Text:
    trainer = view.trainer
    if trainer is None:
        return Text("none", style=RED)
    if trainer.is_lost:
        return Text(f"{trainer.trouble} for {duration_text(trainer.heartbeat_s)}", style=RED)
    return f"up {duration_text(trainer.up_s)} on {one_line(trainer.entry.host)}"


def queue_line(view: FleetView, width: int) -> Table:
    """How much waits for the trainer, of what may."""
    waiting, most = view.status.backlog, view.max_queue_bytes
    style = RED if view.queue_grows else ""
    parts = [f"{waiting.num_episodes:,} games"]
    if view.queue_per_s:
        way = "grows" if view.queue_per_s > 0 else "shrinks"
        parts.append(f"{way} by {short_text(abs(view.queue_per_s))}/s")
    if waiting.num_episodes:
        parts.append(f"oldest {duration_text(waiting.oldest_s)}")
    limit = f" of {size_text(most)}" if most and width >= WIDE else ""
    parts.append(f"{size_text(waiting.num_bytes)}{limit}")
    line = Table.grid(expand=True, padding=(0, 1, 0, 0))
    line.add_column(width=LABEL_WIDTH, style=LABEL)
    num_columns = min(MAX_BAR, max(MIN_BAR, width // 4 - LABEL_WIDTH))
    text = Text(", ".join(parts), style=style)
    line.add_column(width=num_columns)
    line.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    share = waiting.num_bytes / most if most else 0.0
    line.add_row("queue", Gauge(share, style or "green"), text)
    return line


def weights_line(view: FleetView, width: int) -> Table:
    line = Table.grid(expand=True, padding=(0, 1, 0, 0))
    line.add_column(width=LABEL_WIDTH, style=LABEL)
    line.add_column(ratio=1, overflow="ellipsis", no_wrap=True)
    line.add_row("weights", weights_text(view, is_long=width >= WIDE))
    return line


def weights_text(view: FleetView, is_long: bool) -> str:
    weights = view.status.weights
    if weights is None:
        return "none published yet"
    shown = [f"{version} x{num}" for version, num in view.versions[:MAX_VERSIONS]]
    rest = sum(num for _, num in view.versions[MAX_VERSIONS:])
    of_trainer = view.trainer_counters
    shown += [f"older x{rest}"] if rest else []
    counts = {
        "published": of_trainer.get("weights_published", 0),
        "fetched": view.sum_of("weights_loaded"),
        "kept": weights.num_kept,
    }
    if is_long:
        counts["in the run folder"] = of_trainer.get("weights_in_run", 0)
    return ", ".join(
        [
            f"{weights.version}, {duration_text(weights.age_s)} old",
            *([f"in use {' '.join(shown)}"] if shown else []),
            *(f"{short_text(count)} {name}" for name, count in counts.items()),
        ]
    )
