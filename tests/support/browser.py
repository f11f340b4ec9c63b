"""Debian's Chromium, driven by Playwright, and a real dashboard for it to open.

    with Dash(runs) as dash, chromium() as browser, watched_page(browser) as page:
        page.goto(dash.url + "/runs")

A watched page fails its test if the page logs an error, or asks another host for anything.
Where Chromium, Playwright or the built pages are missing the tests are skipped; with
ZEROFLEET_REQUIRE_TOOLS=1, as in CI, they run and fail.
"""

import os
import re
import select
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit

import pytest
from command_line import ZEROFLEET

import zerofleet.web

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WEBGPU = ["--enable-unsafe-webgpu", "--use-webgpu-adapter=swiftshader"]
"""A WebGPU in software: right, and slow."""
BUILT = Path(zerofleet.web.__file__).parent / "assets" / "index.html"
WIDE, PHONE = (1280, 900), (360, 740)
START_S = 60
SERIOUS = ("serious", "critical")

MISSING = [
    *(["chromium (scripts/install-debian-packages browser)"] if CHROMIUM is None else []),
    *(["Playwright (make venv)"] if find_spec("playwright") is None else []),
    *(["the built pages (scripts/build-web)"] if not BUILT.exists() else []),
]
needs_browser = pytest.mark.skipif(
    bool(MISSING) and not os.environ.get("ZEROFLEET_REQUIRE_TOOLS"),
    reason=f"missing: {', '.join(MISSING)}",
)


class Dash:
    """A server of its own process, by default `zerofleet dash`, at the address that it prints."""

    def __init__(self, runs: Path, *arguments: str) -> None:
        self._runs = runs
        self._arguments = arguments or ("dash", "--port", "0")
        self._process: subprocess.Popen[str] | None = None
        self.said: list[str] = []
        self.url = self.start()

    def start(self, *arguments: str) -> str:
        """Starts it, again perhaps, and returns the address without a path."""
        command = [str(ZEROFLEET), *(arguments or self._arguments)]
        self._process = subprocess.Popen(
            command,
            env={**os.environ, "ZEROFLEET_RUNS": str(self._runs)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            bufsize=1,
        )
        until = time.monotonic() + START_S
        while time.monotonic() < until:
            line = self._line(until)
            if found := re.search(r"dashboard: (http://[^/]+)/", line):
                return found[1]
        self.stop()
        pytest.fail(f"{' '.join(command)} named no address; it said:\n{''.join(self.said)}")

    def restart(self) -> None:
        """The same server again, at the same port."""
        port = urlsplit(self.url).port
        assert self.start("dash", "--port", str(port)) == self.url

    def stop(self) -> None:
        """Ctrl-C, and then waits for its end."""
        if self._process is None:
            return
        self._process.send_signal(signal.SIGINT)
        try:
            self.said.append(self._process.communicate(timeout=START_S)[0])
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.communicate()
        self._process = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _line(self, until: float) -> str:
        """Its next line, or nothing where none comes in time."""
        process = self._process
        assert process is not None
        assert process.stdout is not None
        if not select.select([process.stdout], [], [], max(0.0, until - time.monotonic()))[0]:
            return ""
        line = process.stdout.readline()
        self.said.append(line)
        if not line and process.poll() is not None:
            pytest.fail(f"it ended with {process.returncode}:\n{''.join(self.said)}")
        return line


@contextmanager
def chromium(
    more: Sequence[str] = (),
    ignored: Sequence[str] = (),
    environment: Mapping[str, str] | None = None,
) -> "Iterator[Browser]":
    """With more flags and environment, and without the ignored of Playwright's own flags."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM,
            args=[*FLAGS, *more],
            ignore_default_args=list(ignored),
            env={**os.environ, **(environment or {})},
        )
        try:
            yield browser
        finally:
            browser.close()


def chromium_processes() -> dict[int, bool]:
    """Numbers of the processes below this one that belong to Chromium, with whether each is a
    renderer: a tab's, or one that is kept in reserve."""
    parents: dict[int, int] = {}
    found: dict[int, bool] = {}
    for folder in Path("/proc").iterdir():
        if not folder.name.isdecimal():
            continue
        try:
            # Chromium's children part their words by spaces.
            words = (folder / "cmdline").read_text(errors="replace").replace("\0", " ").split()
            stat = (folder / "stat").read_text().rpartition(")")[2].split()
        except (FileNotFoundError, ProcessLookupError):
            continue
        parents[int(folder.name)] = int(stat[1])
        if words and "chromium" in words[0]:
            found[int(folder.name)] = "--type=renderer" in words

    def is_below(number: int) -> bool:
        while number in parents and number != os.getpid():
            number = parents[number]
        return number == os.getpid()

    return {number: is_tab for number, is_tab in found.items() if is_below(number)}


@contextmanager
def watched_page(
    browser: "Browser",
    size: tuple[int, int] = WIDE,
    colours: str = "light",
    expected: Sequence[str] = (),
) -> "Iterator[Page]":
    """A page with an empty profile. Afterwards nothing was logged as an error, except what contains
    one of the expected texts, and no request left this machine."""
    width, height = size
    scheme: Any = colours
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.set_default_timeout(15_000)
    faults: list[str] = []
    hosts: set[str] = set()
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("request", lambda asked: hosts.add(urlsplit(asked.url).hostname or ""))
    page.on("websocket", lambda opened: hosts.add(urlsplit(opened.url).hostname or ""))
    try:
        yield page
        unexpected = [fault for fault in faults if not any(each in fault for each in expected)]
        assert unexpected == [], unexpected
        assert hosts <= {"127.0.0.1", ""}, hosts
    finally:
        context.close()


def until(is_so: Callable[[], bool], within_s: float = 15) -> None:
    """Waits for something that the page comes to show. The pages' Content-Security-Policy forbids
    what Playwright's own wait_for_function does."""
    end = time.monotonic() + within_s
    while not is_so():
        assert time.monotonic() < end, "it did not come about"
        time.sleep(0.05)


def sideways_scroll(page: "Page") -> int:
    """By how many pixels the page is wider than the window."""
    width: int = page.evaluate(
        "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    )
    return width


def accessibility_faults(page: "Page") -> list[str]:
    """What axe-core calls serious or critical, with the first element of each."""
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(page).response["violations"]
    return [
        f"{each['id']}: {each['help']} ({each['nodes'][0]['html'][:120]})"
        for each in found
        if each["impact"] in SERIOUS
    ]
