"""Real tabs lend to the real gateway: their games reach the trainer once, and the pages say so."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest
from browser import (
    PHONE,
    WIDE,
    accessibility_faults,
    needs_browser,
    sideways_scroll,
    until,
    watched_page,
)
from lent_page import phase, start_lending, totals
from lent_run import LentServer, lent_server
from redis_server import RedisServer, needs_redis

from zerofleet.web import safety

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [needs_browser, needs_redis]

PATIENCE_S = 90


@pytest.fixture(scope="module")
def lent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LentServer]:
    folder = tmp_path_factory.mktemp("lent")
    with RedisServer(folder) as redis, lent_server(folder, redis) as server:
        yield server


def test_two_tabs_feed_a_run_and_every_game_reaches_the_trainer_once(
    lent: LentServer, browser: "Browser"
) -> None:
    with watched_page(browser) as first, watched_page(browser) as second:
        start_lending(first, lent.url, "Ada")
        start_lending(second, lent.url, "Bob")
        until(lambda: len(lent.trainer.taken) >= 24, PATIENCE_S)
        lent.trainer.publish(2)
        until(lambda: "weights 2" in totals(first), PATIENCE_S)
        for page in (first, second):
            page.get_by_role("button", name="Stop").click()
            until(lambda page=page: "stopped" in phase(page))
            assert "refused" not in totals(page)
    assert lent.trainer.num_twice == 0
    assert lent.trainer.withdrawn == set()


@pytest.mark.parametrize(
    ("size", "colours"), [(WIDE, "light"), pytest.param(PHONE, "dark", marks=pytest.mark.long)]
)
def test_the_pages_of_lending_fit_their_window_and_are_accessible(
    lent: LentServer, browser: "Browser", size: tuple[int, int], colours: str
) -> None:
    with watched_page(browser, size, colours) as page:
        start_lending(page, lent.url, f"Cem {size[0]}")
        num_before = len(lent.trainer.taken)
        until(lambda: len(lent.trainer.taken) >= num_before + 4, PATIENCE_S)
        cookie = {"name": safety.COOKIE, "value": lent.server.doors.token or "", "url": lent.url}
        page.context.add_cookies([cookie])  # type: ignore[list-item]
        until(lambda: page.locator(".table-board svg, .table-board [role=grid]").count() > 0)
        for name in ("Lend", "Community", "Operator"):
            page.get_by_role("navigation", name="Lending").get_by_role("link", name=name).click()
            page.get_by_role("heading", level=1, name=name).wait_for()
            until(lambda: page.locator(".loading").count() == 0)
            assert sideways_scroll(page) == 0, name
            assert accessibility_faults(page) == [], name
            here = page.get_by_role("navigation", name="Pages").locator("[aria-current=page]")
            assert here.inner_text() == "Lend", name
            if name == "Lend":
                page.get_by_text("Your browser plays Connect Four").wait_for()
            if name == "Community":
                assert re.search(r"\n\d+ in the last hour", page.locator("main").inner_text())
                begins = page.get_by_text("The curve begins with the second hour.")
                begins.or_(page.locator("canvas")).first.wait_for()  # an hour may have just ended


@pytest.mark.long
def test_the_community_counts_games_and_an_operator_pauses_and_revokes(
    lent: LentServer, browser: "Browser", page: "Page"
) -> None:
    start_lending(page, lent.url, "Eve")
    num_before = len(lent.trainer.taken)
    until(lambda: len(lent.trainer.taken) >= num_before + 4, PATIENCE_S)
    page.get_by_role("link", name="Community").click()
    users = page.get_by_role("table", name="Users")
    users.get_by_role("rowheader", name="Eve").wait_for()
    page.get_by_role("button", name="Devices").click()
    page.get_by_role("table", name="Devices").get_by_role("rowheader", name="Eve").wait_for()
    with watched_page(browser) as operator:
        operator.goto(f"{lent.url}/operator?token={lent.server.doors.token}")
        operator.get_by_role("button", name="Pause Eve").click()
        operator.get_by_role("button", name="Resume Eve").click()
        operator.get_by_role("button", name="Revoke Eve").click()
        row = operator.get_by_role("row", name=re.compile("Eve"))
        until(lambda: "revoked" in row.inner_text())
    page.get_by_role("link", name="Lend", exact=True).last.click()
    until(lambda: "refused" in phase(page), PATIENCE_S)
    assert "revoked" in phase(page)
