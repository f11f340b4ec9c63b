"""The messages in docs/9-troubleshooting.md are those that the program prints."""

import ast
from pathlib import Path

import pytest

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "9-troubleshooting.md").read_text()
MESSAGES = [line.strip() for line in PAGE.splitlines() if line.startswith("    ")]
SOURCES = sorted((PROJECT / "src").rglob("*.py"))
TEXTS = [
    node.value
    for path in SOURCES
    for node in ast.walk(ast.parse(path.read_text()))
    if isinstance(node, ast.Constant) and isinstance(node.value, str)
]
"""Every text in the sources; a text with names in it is several."""


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_on_the_page_is_printed_by_the_program(message: str) -> None:
    for piece in message.split("…"):
        assert any(piece in text for text in TEXTS), piece
