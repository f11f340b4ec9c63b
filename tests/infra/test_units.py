"""The systemd units start the roles with options that the command line has."""

import re
from pathlib import Path

import pytest
from command_line import Ran

UNITS = Path(__file__).parents[2] / "infra" / "systemd"


@pytest.mark.parametrize("role", ["trainer", "worker", "rater", "inference"])
def test_a_unit_starts_its_role_with_options_that_exist(
    role: str, capsys: pytest.CaptureFixture[str]
) -> None:
    unit = (UNITS / f"zerofleet-{role}@.service").read_text()
    (verb, options) = re.findall(r"^ExecStart=\S+ (\w+)(.*)$", unit, re.MULTILINE)[0]
    assert verb == role
    known = Ran(capsys, role, "--help").output
    assert [each for each in re.findall(r"--[\w-]+", options) if each not in known] == []
    assert "--run %i" in options
