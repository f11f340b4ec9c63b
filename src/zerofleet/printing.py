"""What is printed is only text: whoever wrote a run or a game does not steer the reader's terminal.

Names, notes and messages out of files of others may hold control characters, which a terminal obeys
(its title, its cursor, its colours), or characters that cannot be printed at all. They are shown as
escapes.
"""

import re
from typing import TextIO

STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters but for tab and newline, those that turn text round, and half characters."""


def printable(text: str) -> str:
    r"""The text with what would steer a terminal as escapes such as \x1b."""
    return STEERING.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(
    text: object = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False
) -> None:
    """Prints a line of text."""
    print(printable(str(text)), end=end, file=file, flush=flush)


def size_text(size_bytes: float) -> str:
    """Three digits or so: 41.2 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.1f} {unit}" if unit != "B" else f"{size_bytes:.0f} B"
        size_bytes /= 1024
    return f"{size_bytes:.1f} GiB"


def duration_text(seconds: float) -> str:
    """In the largest unit that fits: 3 h."""
    for unit, length_s in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds / length_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def value_text(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
