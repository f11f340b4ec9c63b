"""Tables: drawn on a terminal, plain columns elsewhere."""

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table

WIDTH_OFF_TERMINAL = 500
"""Columns that a file or a pipe has: enough that nothing is folded."""


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[str]
) -> None:
    """Prints rows of cells; the columns named in `numbers` are set to the right."""
    console = Console(markup=False, highlight=False, emoji=False)
    if not console.is_terminal:
        console.width = WIDTH_OFF_TERMINAL
    table = Table(box=box.SIMPLE_HEAD if console.is_terminal else None, pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in numbers else "left")
    for row in rows:
        table.add_row(*row)
    console.print(table)
