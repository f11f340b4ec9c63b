"""docs/settings.md is what zerofleet/config/sections.py says now."""

import subprocess
import sys
from pathlib import Path

from zerofleet.config import Config

PROJECT = Path(__file__).parent.parent
PAGE = (PROJECT / "docs" / "settings.md").read_text()


def test_the_page_of_settings_is_up_to_date() -> None:
    script = PROJECT / "scripts" / "write-settings-doc"
    made = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert made.stdout == PAGE, f"{sys.executable} {script} > docs/settings.md"


def test_the_page_names_every_setting() -> None:
    for section, values in Config.model_json_schema()["$defs"].items():
        prefix = section.removesuffix("Config").lower()
        for name in values["properties"]:
            assert f"| `{prefix}.{name}` |" in PAGE
