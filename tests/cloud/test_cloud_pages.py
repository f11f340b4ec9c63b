"""The commands on the pages about the cloud: each exists, with its options."""

import re
from pathlib import Path

import pytest
from command_line import Ran

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("14-cloud.md", "15-s3-and-images.md")
WITH_VERBS = {"cloud", "fleet", "runs"}


def commands(page: str) -> set[str]:
    """Every `zerofleet …` of a page, in code; a line of prose may break one."""
    text = re.sub(r"\n  (?=\S)", " ", (DOCS / page).read_text())
    found = re.findall(r"`(zerofleet [^`]+)`", text)
    found += re.findall(r"^    (zerofleet .*)$", text, re.M)
    return {each.split("#")[0].strip() for each in found}


@pytest.mark.parametrize("page", PAGES)
def test_every_command_and_option_exists(page: str, capsys: pytest.CaptureFixture[str]) -> None:
    listed = commands(page)
    assert len(listed) > 3
    for command in sorted(listed):
        words = command.replace("…", "").split()[1:]
        verb = words[: 2 if words[0] in WITH_VERBS and len(words) > 1 else 1]
        shown = Ran(capsys, *verb, "--help")
        assert shown.status == 0, command
        for option in (word for word in words if word.startswith("--")):
            assert re.search(rf"^ +{option}\b", shown.output, re.M), f"{command}: {option}"
