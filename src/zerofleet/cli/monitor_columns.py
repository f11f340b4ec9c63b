"""The columns of the monitor: those of every role, and those of each kind.

A kind that has no columns here is shown with what it counts. Where a terminal is too narrow, the
columns of the highest rank are left out first.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from rich.text import Text

from zerofleet.fleet.monitor import PULSE, RoleView
from zerofleet.fleet.role_metrics import METRICS
from zerofleet.fleet.screen import short_text
from zerofleet.printing import duration_text, printable, size_text

LABEL = "cyan"
RED = "bold red"
LATE = "yellow"
UNKNOWN = "-"
MIN_DOING = 20
"""Columns that remain for what a role does."""
MAX_ID, MAX_HOST = 22, 16
MAX_ID_NARROW = 13
WIDE = 120
"""From so many columns on, hosts and devices are shown, and numbers of all kinds are as wide."""
MIN_WIDE = 9
NUM_UNKNOWN_COLUMNS = 6
MIN_UNKNOWN, MAX_UNKNOWN = 6, 14

Cell = Callable[[RoleView], str | Text]


@dataclass(frozen=True)
class Column:
    """Right-aligned, but for names."""

    title: str
    width: int
    cell: Cell
    rank: int = 0
    """0 is always shown."""
    is_name: bool = False


# ---- cells


def per_s(name: str) -> Cell:
    """A counter's growth. A role whose pulse is zero stands still."""

    def cell(role: RoleView) -> str | Text:
        value = role.per_s.get(name)
        if value is None:
            return UNKNOWN
        stands_still = value == 0 and PULSE.get(role.entry.kind) == name
        return Text(short_text(value), style=RED if stands_still else "")

    return cell


def value_of(name: str, text: Callable[[float], str] = short_text) -> Cell:
    def cell(role: RoleView) -> str:
        value = role.entry.counters.get(name)
        return UNKNOWN if value is None else text(value)

    return cell


def share_of_time(name: str) -> Cell:
    """The share of time that goes into what is counted in seconds."""

    def cell(role: RoleView) -> str:
        value = role.per_s.get(name)
        return UNKNOWN if value is None else f"{min(1.0, value / role.num_roles):.0%}"

    return cell


def version(role: RoleView) -> str | Text:
    value = role.entry.counters.get("version")
    if value is None:
        return UNKNOWN
    is_behind = role.entry.counters.get("versions_behind", 0) > 0
    return Text(f"{value:.0f}", style=LATE if is_behind else "")


def heartbeat(role: RoleView) -> str:
    age_s = role.heartbeat_s
    return f"{age_s:.1f} s" if age_s < 10 else duration_text(age_s)


# ---- kinds

HOST = Column("host", MAX_HOST, lambda role: one_line(role.entry.host), rank=3, is_name=True)
DEVICE = Column("device", 8, lambda role: one_line(role.entry.device), rank=7, is_name=True)
BEAT = Column("beat", 6, heartbeat)
UP = Column("up", 6, lambda role: duration_text(role.up_s), rank=1)
VERSION = Column("version", 7, version)
FETCHED = Column("fetched", 7, value_of("weights_loaded"), rank=6)


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:.1f}"


OF_KIND: dict[str, tuple[Column, ...]] = {
    "trainer": (
        Column("steps/s", 7, per_s("steps")),
        Column("samples/s", 9, per_s("samples"), rank=4),
        Column("loss", 6, value_of("loss", lambda loss: f"{loss:.3f}")),
        VERSION,
        Column("waits", 5, share_of_time("waiting_to_train_s"), rank=2),
        Column("buffer", 7, value_of("buffer_rows"), rank=5),
        Column("published", 9, value_of("weights_published"), rank=6),
    ),
    "rater": (
        Column("blocks", 6, value_of("blocks")),
        Column("returned", 8, value_of("blocks_returned"), rank=4),
        FETCHED,
    ),
    "inference": (
        Column("rows/s", 6, per_s("inferences")),
        Column("requests/s", 10, per_s("requests"), rank=4),
        Column("p50 ms", 6, value_of("latency_s/p50", milliseconds)),
        Column("p99 ms", 6, value_of("latency_s/p99", milliseconds), rank=3),
        Column("fill", 5, value_of("batch_fill", lambda fill: f"{fill:.0%}"), rank=2),
        VERSION,
        FETCHED,
    ),
    "worker": (
        Column("games/s", 7, per_s("games")),
        Column("rows/s", 6, per_s("rows"), rank=4),
        Column("sims/s", 6, per_s("simulations")),
        VERSION,
        Column("waits", 5, share_of_time("waiting_to_play_s"), rank=2),
        Column("games", 6, value_of("games"), rank=8),
        FETCHED,
        Column("spool", 9, value_of("spool_bytes", size_text), rank=5),
    ),
}


def kinds_of(roles: Sequence[RoleView]) -> list[str]:
    """In the order of their columns; workers, of which there are most, come last."""
    places = {kind: place for place, kind in enumerate(OF_KIND)}
    before_workers = places["worker"] - 0.5
    kinds = {each.entry.kind for each in roles}
    return sorted(kinds, key=lambda kind: (places.get(kind, before_workers), kind))


def own_columns(kind: str, roles: Sequence[RoleView]) -> tuple[Column, ...]:
    if kind in OF_KIND:
        return OF_KIND[kind]
    names = list(dict.fromkeys(name for each in roles for name in each.entry.counters))
    return tuple(map(_unknown_column, names[:NUM_UNKNOWN_COLUMNS]))


def _unknown_column(name: str) -> Column:
    """Of a kind that this program does not know: of a counter, how fast it grows."""
    metric = METRICS.get(name)
    is_counter = metric is not None and metric.kind == "counter"
    title = one_line(f"{name}/s" if is_counter else name)
    width = min(MAX_UNKNOWN, max(MIN_UNKNOWN, len(title)))
    return Column(title, width, per_s(name) if is_counter else value_of(name), rank=5)


def fitting_columns(
    kind: str, roles: Sequence[RoleView], everyone: Sequence[RoleView], width: int
) -> list[Column]:
    """The columns of one kind of roles before the last, which says what a role does. Those that all
    kinds have stand below one another."""
    columns = [*common_columns(kind, roles, everyone, width), *own_columns(kind, roles)]
    if width >= WIDE:
        columns = [replace(each, width=max(each.width, MIN_WIDE)) for each in columns]
    while width - sum(each.width + 1 for each in columns) < MIN_DOING:
        highest = max(columns, key=lambda each: each.rank)
        if highest.rank == 0:
            break
        columns.remove(highest)
    return columns


def common_columns(
    kind: str, roles: Sequence[RoleView], everyone: Sequence[RoleView], width: int
) -> list[Column]:
    kinds = {each.entry.kind for each in everyone}
    names = [heading(each, everyone) for each in kinds] + [each.entry.id for each in everyone]
    widest = MAX_ID if width >= WIDE else MAX_ID_NARROW
    name = Column(
        heading(kind, roles),
        min(widest, max(map(len, names))),
        lambda role: one_line(role.entry.id),
        is_name=True,
    )
    hosts = [HOST.title, *(each.entry.host for each in everyone)]
    host = replace(HOST, width=min(MAX_HOST, max(map(len, hosts))))
    return [name, *([host, DEVICE] if width >= WIDE else []), BEAT, UP]


def heading(kind: str, roles: Sequence[RoleView]) -> str:
    """How many of a kind are registered, such as `5 workers`."""
    num = sum(each.num_roles for each in roles if each.entry.kind == kind and not each.is_gone)
    return f"{num} {one_line(kind)}{'' if num == 1 else 's'}"


def one_line(text: str) -> str:
    """Text of another machine, which may neither control the terminal nor take two lines."""
    return printable(" ".join(text.split()))
