"""Safe printing: text from untrusted files cannot control the terminal.

Names, notes and messages in files from elsewhere may hold control characters, which set a
terminal's title, cursor or colours, or characters that cannot be encoded. All are escaped.
"""

import re
from typing import TextIO

CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters except tab and newline, bidirectional overrides, and lone surrogates."""


def printable(text: str) -> str:
    r"""The text with control characters as escapes such as \x1b."""
    return CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def say(
    text: object = "", *, end: str = "\n", file: TextIO | None = None, flush: bool = False
) -> None:
    """Prints a line, escaped by `printable`."""
    print(printable(str(text)), end=end, file=file, flush=flush)


def size_text(size_bytes: float) -> str:
    """A size in binary units: 41.2 MiB."""
    for unit in ("B", "KiB", "MiB"):
        if size_bytes < 1024:
            return f"{size_bytes:.1f} {unit}" if unit != "B" else f"{size_bytes:.0f} B"
        size_bytes /= 1024
    return f"{size_bytes:.1f} GiB"


def duration_text(seconds: float) -> str:
    """A duration in its largest unit: 3 h."""
    for unit, length_s in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= length_s:
            return f"{seconds / length_s:.0f} {unit}"
    return f"{seconds:.0f} s"


def value_text(value: object) -> str:
    return f"{value:.5g}" if isinstance(value, float) else str(value)
