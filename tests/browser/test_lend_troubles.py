"""Real tabs in trouble at the real gateway: what is finished arrives, and nothing counts twice."""

import os
import shutil
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from bare_tab import THROTTLED, BareTab
from browser import chromium, chromium_processes, needs_browser, until, watched_page
from held_link import HeldLink
from lending_client import sign_up
from lent_page import phase, start_lending, start_lending_in, stored_games
from lent_run import LentServer, lent_server
from redis_server import RedisServer, needs_redis

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = [needs_browser, needs_redis, pytest.mark.long]

PATIENCE_S = 120
MINUTE_S = 60
WHEN_OFFLINE = ("WebSocket", "Failed to load resource", "net::ERR")
"""What Chromium logs of a server that does not answer."""
CLOCK = Path(__file__).parents[1] / "support" / "shifted_clock.c"


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentServer]:
    folder = tmp_path_factory.mktemp("lent")
    settings = ("lend.max_games_at_once=16", "search.num_simulations=32")
    with RedisServer(folder) as redis, lent_server(folder, redis, "connect4", *settings) as server:
        yield server


def play_some(page: "Page", url: str, lent: LentServer, name: str) -> None:
    num_before = len(lent.trainer.taken)
    start_lending(page, url, name)
    until(lambda: len(lent.trainer.taken) >= num_before + 4, PATIENCE_S)


def all_arrive_once(lent: LentServer, finished: set[tuple[int, int]]) -> None:
    """And the tab plays on."""
    until(lambda: finished <= lent.trainer.taken.keys(), PATIENCE_S)
    num_before = len(lent.trainer.taken)
    until(lambda: len(lent.trainer.taken) >= num_before + 8, PATIENCE_S)
    assert lent.trainer.num_twice == 0
    assert lent.trainer.withdrawn == set()


def num_online(lent: LentServer) -> int:
    return sum(each.num_online for each in lent.lending.operator_accounts())


def counted_as_often_as_taken(page: "Page", lent: LentServer) -> None:
    """Once the tab has stopped."""
    page.get_by_role("button", name="Stop").click()
    until(lambda: "stopped" in phase(page))
    ledger = lent.lending.ledger
    until(lambda: ledger.totals("run-1")[0] == len(lent.trainer.taken), PATIENCE_S)


def test_a_tab_closed_in_mid_game_loses_nothing_finished_and_nothing_counts_twice(
    lent: LentServer,
) -> None:
    """What it sent last arrives while it is closed, and is sent again."""
    with (
        HeldLink(lent.server.port) as link,
        chromium() as browser,
        watched_page(browser) as page,
    ):
        play_some(page, link.url, lent, "Ada")
        link.hold()
        until(lambda: len(stored_games(page)) >= 2, PATIENCE_S)
        finished = stored_games(page)
        again = page.context.new_page()
        page.close()
        link.release()
        start_lending(again, link.url)
        all_arrive_once(lent, finished)
        counted_as_often_as_taken(again, lent)


@pytest.mark.parametrize("how", ["silent", "broken", "offline in the browser"])
def test_a_tab_offline_for_a_minute_plays_on_and_sends_what_it_finished(
    lent: LentServer, how: str
) -> None:
    with (
        HeldLink(lent.server.port) as link,
        chromium() as browser,
        watched_page(browser, expected=WHEN_OFFLINE) as page,
    ):
        play_some(page, link.url, lent, how)
        if how == "silent":
            link.hold()
        elif how == "broken":
            link.cut()
        else:
            page.context.set_offline(True)
        page.wait_for_timeout(1000 * MINUTE_S)
        finished = stored_games(page)
        assert len(finished) >= 8
        link.release()
        page.context.set_offline(False)
        all_arrive_once(lent, finished)
        counted_as_often_as_taken(page, lent)


def test_a_hidden_tab_plays_as_fast_though_its_timers_are_throttled(lent: LentServer) -> None:
    lender = sign_up(lent.url, "Hidden")
    with chromium(ignored=THROTTLED) as browser:
        tab = BareTab(browser, f"{lent.url}/community")
        num_before = len(lent.trainer.taken)
        start_lending_in(tab, lender)
        until(lambda: len(lent.trainer.taken) >= num_before + 8, PATIENCE_S)

        def games_in(seconds: float) -> int:
            before = len(lent.trainer.taken)
            time.sleep(seconds)
            return len(lent.trainer.taken) - before

        assert tab.evaluate("document.visibilityState") == "visible"
        num_visible = games_in(20)
        BareTab(browser)
        assert tab.evaluate("document.visibilityState") == "hidden"
        ticks = "let n = 0; setInterval(() => ++n, 50); setTimeout(() => resolve(n), 5000)"
        assert tab.evaluate(f"new Promise((resolve) => {{ {ticks} }})") <= 6
        num_hidden = games_in(20)
        tab.front()
    assert num_hidden >= num_visible / 2
    assert lent.trainer.num_twice == 0


@pytest.mark.skipif(shutil.which("g++") is None, reason="no compiler to shift a clock with")
@pytest.mark.parametrize("jump_minutes", [30, 180, -180])
def test_a_laptop_that_sleeps_loses_nothing_finished_however_its_clock_jumps(
    lent: LentServer, tmp_path: Path, jump_minutes: int
) -> None:
    """Every process of the browser stops, and its link breaks. A tab has an hour for its games, by
    its own clock and by the gateway's, which does not jump."""
    library, offset = tmp_path / "shifted_clock.so", tmp_path / "offset"
    compiling = ["g++", "-x", "c", "-shared", "-fPIC", "-O1", str(CLOCK), "-o", str(library)]
    subprocess.run([*compiling, "-ldl"], check=True)
    offset.write_bytes(struct.pack("q", 0))
    environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(offset)}
    with (
        HeldLink(lent.server.port) as link,
        chromium(environment=environment) as browser,
        watched_page(browser, expected=WHEN_OFFLINE) as page,
    ):
        play_some(page, link.url, lent, f"Cem {jump_minutes}")
        link.hold()
        until(lambda: len(stored_games(page)) >= 2, PATIENCE_S)
        finished = stored_games(page)
        before_ms = page.evaluate("Date.now()")
        asleep = list(chromium_processes())
        for number in asleep:
            os.kill(number, signal.SIGSTOP)
        assert num_online(lent) == 1
        link.cut()
        until(lambda: num_online(lent) == 0, PATIENCE_S)
        with offset.open("r+b") as file:
            file.write(struct.pack("q", 60 * jump_minutes))
        link.release()
        for number in asleep:
            os.kill(number, signal.SIGCONT)
        jumped_ms = page.evaluate("Date.now()") - before_ms
        assert abs(jumped_ms / 60_000 - jump_minutes) < 2
        all_arrive_once(lent, finished)
        counted_as_often_as_taken(page, lent)
