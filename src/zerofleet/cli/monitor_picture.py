"""The picture of a fleet on a terminal: a pure function of what is known and of the terminal's
size.

Below the head stands a table for each kind of role, and the keys. Red is what stands still, is
silent or gone.
"""

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from zerofleet.cli.monitor_columns import LABEL, LATE, RED, fitting_columns, kinds_of, one_line
from zerofleet.cli.monitor_controls import HELP, Controls
from zerofleet.cli.monitor_head import Connection, connection_line, head_lines, line_of
from zerofleet.fleet.monitor import FleetView, RoleView
from zerofleet.printing import duration_text

GREY = Style(color="bright_black")


class Greyed:
    """A picture without its colours, as it is out of date."""

    def __init__(self, picture: RenderableType) -> None:
        self._picture = picture

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self._picture, options):
            yield segment if segment.control else Segment(segment.text, GREY)


def picture(
    connection: Connection,
    view: FleetView | None,
    controls: Controls,
    width: int,
    height: int | None = None,
) -> RenderableType:
    """A picture of so many columns, and lines unless None; without a view, of the connection."""
    first_line = connection_line(connection, view, width)
    if view is None:
        return first_line
    head = [*head_lines(view, width)]
    footer = [] if height is None else [footer_line(controls)]
    num_left = None if height is None else max(2, height - 1 - num_lines(head) - len(footer))
    body: list[Table | Text] = [help_table()]
    if not controls.shows_help:
        body = list(role_tables(view, controls, width, num_left))
    rest = Group(*head, *body)
    if num_left is not None:
        rest = Group(rest, *[Text()] * (num_left - num_lines(body)))
    return Group(first_line, Greyed(rest) if connection.fault else rest, *footer)


def num_lines(parts: Sequence[RenderableType]) -> int:
    """A table has its rows, and its titles where it shows them; else a part is one line."""
    return sum(
        part.row_count + part.show_header if isinstance(part, Table) else 1 for part in parts
    )


# ---- the roles


def role_tables(
    view: FleetView, controls: Controls, width: int, max_lines: int | None
) -> Iterable[Table | Text]:
    """A table per kind, of the roles from the first to show on, in at most so many lines."""
    chosen = controls.chosen(view.roles)
    rows = [(kind, each) for kind in kinds_of(chosen) for each in of_kind(chosen, kind)]
    if not rows:
        yield Text("no role matches" if view.roles else "", style="dim")
        return
    first = min(controls.first_row, len(rows) - 1)
    shown = rows[: rows_that_fit(rows, max_lines)]
    is_part = first > 0 or len(shown) < len(rows)
    if is_part and max_lines is not None:  # a line says so
        shown = rows[first : first + rows_that_fit(rows[first:], max_lines - 1)]
    kinds = list(dict.fromkeys(kind for kind, _ in shown))
    has_gaps = not is_part and (max_lines is None or len(shown) + 2 * len(kinds) <= max_lines)
    for number, kind in enumerate(kinds):
        if number and has_gaps:
            yield Text()
        in_table = [each for of, each in shown if of == kind]
        yield role_table(kind, in_table, of_kind(chosen, kind), chosen, width)
    if is_part:
        hidden = [*rows[:first], *rows[first + len(shown) :]]
        num_red = sum(bool(each.trouble) for _, each in hidden)
        last = first + len(shown)
        text = Text(f"{first + 1} to {last} of {len(rows)}; scroll with the arrow keys", "dim")
        if num_red:
            text.append(f"; {num_red} hidden in trouble", RED)
        yield text


def of_kind(roles: Iterable[RoleView], kind: str) -> list[RoleView]:
    return [each for each in roles if each.entry.kind == kind]


def rows_that_fit(rows: Sequence[tuple[str, RoleView]], max_lines: int | None) -> int:
    """How many of the rows fit into so many lines with the titles of their tables; one at least."""
    if max_lines is None:
        return len(rows)
    num_used, kind_before = 0, None
    for number, (kind, _) in enumerate(rows):
        num_used += 1 if kind == kind_before else 2
        kind_before = kind
        if num_used > max_lines:
            return max(1, number)
    return len(rows)


def role_table(
    kind: str,
    shown: Sequence[RoleView],
    of_this_kind: Sequence[RoleView],
    everyone: Sequence[RoleView],
    width: int,
) -> Table:
    columns = fitting_columns(kind, of_this_kind, everyone, width)
    table = Table(box=None, expand=True, pad_edge=False, padding=(0, 1, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(
            column.title,
            header_style=f"bold {LABEL}" if number == 0 else "dim",
            width=column.width,
            justify="left" if column.is_name else "right",
            overflow="ellipsis",
            no_wrap=True,
        )
    table.add_column("doing", header_style="dim", ratio=1, overflow="ellipsis", no_wrap=True)
    for role in shown:
        cells = [column.cell(role) for column in columns]
        table.add_row(*cells, doing_text(role), style=RED if role.is_lost else "")
    return table


def doing_text(role: RoleView) -> Text:
    if role.is_lost:
        doing = f"{role.trouble} for {duration_text(role.heartbeat_s)}: {role.entry.doing}"
    else:
        doing = role.entry.doing
    return Text(one_line(doing), style=RED if role.trouble else "")


# ---- the foot


def footer_line(controls: Controls) -> Table:
    if controls.is_typing:
        left = Text.assemble(("filter: ", "bold"), controls.filter, ("_", "bold"))
        return line_of(left, Text("Enter keeps it, Escape clears it", style="dim"))
    order = f"{controls.order}{' reversed' if controls.is_reversed else ''}"
    keys = [
        ("q", "quit"),
        ("p", "paused" if controls.is_paused else "pause"),
        ("s", f"sort: {order}"),
        ("/", f"filter{f': {controls.filter}' if controls.filter else ''}"),
        ("t", "trouble" if not controls.only_trouble else "all"),
        ("m", "machines" if not controls.per_machine else "roles"),
        ("?", "help"),
    ]
    paused = f"reverse {LATE}"
    left = Text("  ").join(
        Text.assemble((key, "bold"), " ", (what, paused if what == "paused" else ""))
        for key, what in keys
    )
    return line_of(left, Text())


def help_table() -> Table:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="bold")
    table.add_column(no_wrap=True, overflow="ellipsis")
    for key, what in HELP:
        table.add_row(key, what)
    return table
