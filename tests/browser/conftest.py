"""Two short real runs and one dashboard for all tests in a browser."""

import fcntl
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from browser import Dash, chromium, watched_page
from command_line import ZEROFLEET
from short_runs import NUM_STEPS, RUNS, train_command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with two trained and rated runs, made once for all workers of pytest -n."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "browser-runs"
    folder.mkdir(exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        training = [
            subprocess.Popen(
                [str(ZEROFLEET), *train_command(name, "--steps", str(NUM_STEPS), "--no-dash")],
                env={**os.environ, "ZEROFLEET_RUNS": str(folder)},
                stdout=subprocess.DEVNULL,
            )
            for name in RUNS
            if not (folder / name).exists()
        ]
        assert [each.wait(timeout=180) for each in training] == [0] * len(training)
    return folder


@pytest.fixture(scope="session")
def dash(runs: Path) -> Iterator[Dash]:
    with Dash(runs) as server:
        yield server


@pytest.fixture(scope="module")
def browser() -> "Iterator[Browser]":
    """Not for longer than a module: while it runs, no other test of the process can have an event
    loop."""
    with chromium() as started:
        yield started


@pytest.fixture
def page(browser: "Browser") -> "Iterator[Page]":
    """A wide page in light colours that must log no error and ask no other host."""
    with watched_page(browser) as opened:
        yield opened
