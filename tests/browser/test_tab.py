"""The page that plays without a server: any server of files holds it, at any path."""

from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest
from browser import (
    BUILT,
    PHONE,
    WIDE,
    accessibility_faults,
    needs_browser,
    sideways_scroll,
    until,
    watched_page,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser

PATIENCE_S = 90


class Files(SimpleHTTPRequestHandler):
    """Files alone, and no log."""

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Of the page in a folder of a plain server."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "some").mkdir()
    Path(folder / "some" / "place").symlink_to(BUILT.parent)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/some/place/tab.html"
    server.shutdown()
    thread.join()
    server.server_close()


def wait_for_turn(page: "Page") -> None:
    until(lambda: page.locator(".standing").inner_text() == "Your move.", PATIENCE_S)


def test_connect_four_is_played_against_the_shipped_network_without_a_server(
    page: "Page", address: str
) -> None:
    page.goto(address)
    page.get_by_label("Simulations per move").fill("20")
    wait_for_turn(page)
    page.locator("[data-action='3']").first.click()
    until(lambda: page.locator(".moves li").count() == 2, PATIENCE_S)
    wait_for_turn(page)
    page.get_by_role("img", name="Winning chances").wait_for()
    page.get_by_role("button", name="Take back").click()
    until(lambda: page.locator(".moves li").count() == 0)


@pytest.mark.long
@pytest.mark.parametrize("game", ["backgammon", "beastybar", "gomoku-9"])
def test_the_agent_answers_in_every_game(page: "Page", address: str, game: str) -> None:
    page.goto(address)
    page.get_by_label("Simulations per move").fill("10")
    page.get_by_label("Game").select_option(game)
    if game == "gomoku-9":
        page.get_by_role("button", name="You are second").click()
    wait_for_turn(page)
    if game == "gomoku-9":
        assert page.locator(".moves li").count() == 1


@pytest.mark.long
@pytest.mark.parametrize("size", [WIDE, PHONE])
@pytest.mark.parametrize("colours", ["light", "dark"])
def test_the_page_fits_its_window_and_is_accessible(
    browser: "Browser", address: str, size: tuple[int, int], colours: str
) -> None:
    with watched_page(browser, size, colours) as page:
        page.goto(address)
        wait_for_turn(page)
        assert sideways_scroll(page) == 0
        assert accessibility_faults(page) == []
