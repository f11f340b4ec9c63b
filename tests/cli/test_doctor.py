"""zerofleet doctor: what a machine has, and what it lacks."""

import os
import re
import subprocess
from importlib.metadata import version
from pathlib import Path

from command_line import ZEROFLEET


def doctor(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [ZEROFLEET, "doctor", *arguments],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        timeout=300,
    )


def test_the_example_in_the_help_of_doctor_finds_and_measures_what_training_needs() -> None:
    example = re.search(r"Example: zerofleet doctor (.+)", doctor("--help").stdout)
    assert example
    ran = doctor(*example[1].split())
    assert (ran.returncode, ran.stderr) == (0, "")
    rows = dict(re.findall(r"^(\S.*?) {2,}(\S.*?) *$", ran.stdout, re.MULTILINE))
    assert rows["torch"] == version("torch")
    assert rows["cores"].startswith(f"{len(os.sched_getaffinity(0))} of ")
    assert rows["device"].endswith("(run.device=auto)")
    measured = ran.stdout[ran.stdout.index("\nmeasured") :]
    rates = re.findall(r"([\d,.]+) (simulations|positions|samples)/s", measured)
    assert [what for _, what in rates] == ["simulations", "positions", "samples"]
    assert all(float(number.replace(",", "")) > 0 for number, _ in rates)


def package_that_needs(requirement: str, folder: Path) -> str:
    """A folder where zerofleet says of itself that it needs that."""
    described = folder / "zerofleet-9.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: zerofleet\nVersion: 9\n"
        f"Requires-Dist: numpy\nRequires-Dist: {requirement}\n"
    )
    return str(folder)


def test_a_missing_required_library_is_exit_status_1_with_the_fix(
    tmp_path: Path,
) -> None:
    """A package that declares a requirement that does not exist."""
    ran = doctor(PYTHONPATH=package_that_needs('nobody-has-this>=1; extra == "train"', tmp_path))
    assert (ran.returncode, ran.stderr) == (1, "")
    assert "missing: nobody-has-this, for training; pip install 'zerofleet[train]'\n" in ran.stdout
    assert "measured" not in ran.stdout


def test_a_missing_optional_library_is_named_with_the_fix_and_is_no_failure(tmp_path: Path) -> None:
    package = package_that_needs('nobody-has-this>=1; extra == "gpu"', tmp_path)
    ran = doctor("--seconds", "0", CXX="no-such-compiler", PYTHONPATH=package)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "missing: C++ compiler, for custom games in C++; apt-get install g++\n" in ran.stdout
    assert (
        "missing: nobody-has-this, for GPU utilisation, power and memory in the metrics; "
        "pip install 'zerofleet[gpu]'\n"
    ) in ran.stdout
