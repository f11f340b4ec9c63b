"""What the README and the pages of docs/ name exists: links, files of the project, settings."""

import re
from pathlib import Path

import pytest

from zerofleet.config import Config

PROJECT = Path(__file__).parent.parent
PAGES = [PROJECT / "README.md", PROJECT / "CONTRIBUTING.md", *(PROJECT / "docs").rglob("*.md")]
ROOTS = [PROJECT, PROJECT / "src" / "zerofleet", PROJECT / "cpp"]
"""A path on a page begins at one of these."""
LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)")
FILE = re.compile(r"`([\w.-]+(?:/[\w.-]+)+\.(?:cc|h|json|md|mjs|py|txt|yaml))`")
SETTING = re.compile(r"(?:`|--set '?)([a-z]+)\.(?!(?:h|json|txt)`)([a-z_]+)(?=[`=])")
PLACEHOLDERS = {"configs/GAME/PRESET.yaml"}
SECTIONS = {name: field.annotation.model_fields for name, field in Config.model_fields.items()}


def anchors(page: Path) -> set[str]:
    """The headings of a page as a link names them."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    plain = (re.sub(r"\[([^]]*)\]\([^)]*\)|`", r"\1", heading).lower() for heading in headings)
    return {re.sub(r"[^\w -]", "", heading).strip().replace(" ", "-") for heading in plain}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(PROJECT)))
def test_links_files_and_settings_on_a_page_exist(page: Path) -> None:
    text = page.read_text()
    missing = []
    for place, anchor in LINK.findall(text):
        target = page.parent / place if place else page
        if not target.exists() or (anchor and anchor not in anchors(target)):
            missing.append(f"link {place}#{anchor}")
    for path in set(FILE.findall(text)) - PLACEHOLDERS:
        if not any((root / path).exists() for root in ROOTS):
            missing.append(f"file {path}")
    for section, name in SETTING.findall(text):
        if section in SECTIONS and name not in SECTIONS[section]:
            missing.append(f"setting {section}.{name}")
    assert missing == []
