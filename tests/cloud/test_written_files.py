"""Rates and templates in the project are what their sources say."""

import json
import re
import runpy
from pathlib import Path

import pytest

from zerofleet.cloud.boot import MAX_STORED_BYTES
from zerofleet.cloud.plan import size_names
from zerofleet.cloud.stacks import MAX_TEMPLATE_BYTES

PROJECT = Path(__file__).parents[2]
WRITER = runpy.run_path(str(PROJECT / "scripts" / "write-cloud-files"))
AGAIN = "run: .venv/bin/python scripts/write-cloud-files"


def test_rates_are_those_of_the_recorded_benchmarks() -> None:
    written = PROJECT / "src" / "zerofleet" / "cloud" / "rates.yaml"
    assert written.read_text() == WRITER["rates_text"](), AGAIN


@pytest.mark.parametrize("size", size_names())
def test_templates_in_infra_are_those_of_the_description(size: str) -> None:
    written = PROJECT / "infra" / "cloud" / f"{size}.json"
    assert written.read_text() == WRITER["template_text"](size), AGAIN


def test_the_wrapper_for_terraform_names_what_the_templates_have() -> None:
    """Terraform itself cannot be had here; what the wrapper says of the templates can be wrong."""
    folder = PROJECT / "infra" / "cloud"
    text = (folder / "main.tf").read_text()
    (merged,) = re.findall(r"parameters = merge\((.*?)var\.parameters", text, re.S)
    given = set(re.findall(r"^ +(\w+) +=", merged, re.M))
    assert len(given) == 4
    for size in size_names():
        template = json.loads((folder / f"{size}.json").read_text())
        assert given <= template["Parameters"].keys()
        assert set(re.findall(r'outputs\["(\w+)"\]', text)) <= template["Outputs"].keys()
        assert len(json.dumps(template, separators=(",", ":"))) < MAX_TEMPLATE_BYTES
    programs = re.findall(r'file\("\$\{local.programs\}/(\S+)"\)', text)
    for name in programs:
        program = PROJECT / "src" / "zerofleet" / "cloud" / name
        assert program.stat().st_size <= MAX_STORED_BYTES, name  # stored with its comments
    assert len(programs) == 3
