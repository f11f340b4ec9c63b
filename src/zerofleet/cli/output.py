"""Tables: drawn on a terminal, plain columns elsewhere."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich import box
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from zerofleet.printing import printable

WIDTH_OFF_TERMINAL = 500
"""Columns in a file or a pipe: enough that nothing wraps."""


class TextConsole(Console):
    """Prints text verbatim: no markup, and control characters are escaped."""

    def __init__(self) -> None:
        super().__init__(markup=False, highlight=False, emoji=False)

    def render_str(self, text: str, **how: Any) -> Text:
        return super().render_str(printable(text), **how)

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]
) -> None:
    """Prints rows of cells; the columns named in `numbers` are right-aligned."""
    console = TextConsole()
    if not console.is_terminal:
        console.width = WIDTH_OFF_TERMINAL
    console.print(table_for(console, header, rows, numbers))


def table_for(
    console: Console,
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: Sequence[str],
) -> Table:
    """The table that `print_table` prints."""
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in numbers else "left")
    for row in rows:
        table.add_row(*row)
    return table
