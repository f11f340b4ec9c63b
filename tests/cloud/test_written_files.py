"""Rates and templates in the project are what their sources say."""

import runpy
from pathlib import Path

import pytest

from zerofleet.cloud.plan import size_names

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
