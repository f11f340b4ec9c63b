"""Stepping through stored games, and the boards at every width, in both colours."""

import re
from typing import TYPE_CHECKING

import pytest
from browser import (
    PHONE,
    WIDE,
    Dash,
    accessibility_faults,
    needs_browser,
    sideways_scroll,
    until,
    watched_page,
)
from table import (
    move_checkers,
    num_moves,
    place_in_line,
    play_first_card,
    play_on,
    start_game,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = needs_browser


def open_first_game(page: "Page", dash: Dash, ply: int = 0) -> None:
    """The first game in the list of a run, from the list."""
    page.goto(f"{dash.url}/runs/first/games")
    page.get_by_role("link", name=re.compile("^Game ")).first.click()
    page.wait_for_url("**/runs/first/games/*")
    page.locator(".board").wait_for()
    for _ in range(ply):
        page.keyboard.press("ArrowRight")


def num_stones(page: "Page") -> int:
    return page.locator(".stone:not(.is-ghost)").count()


def test_keys_step_through_a_game_and_every_position_has_a_link(dash: Dash, page: "Page") -> None:
    open_first_game(page, dash)
    assert num_stones(page) == 0
    for ply in (1, 2, 3):
        page.keyboard.press("ArrowRight")
        page.wait_for_url(f"**ply={ply}")
        until(lambda ply=ply: num_stones(page) == ply)  # type: ignore[misc]
    page.keyboard.press("ArrowLeft")
    page.wait_for_url("**ply=2")
    link = page.url
    page.keyboard.press("End")
    until(lambda: page.get_by_role("button", name="One ply on").is_disabled())
    assert num_stones(page) >= 5
    page.keyboard.press("Home")
    page.wait_for_url("**ply=0")
    page.goto(link)
    page.locator(".board").wait_for()
    assert num_stones(page) == 2


def test_the_policy_lies_on_the_board_and_values_on_a_curve(dash: Dash, page: "Page") -> None:
    open_first_game(page, dash)
    table = page.get_by_role("table", name="Policy of the search")
    assert page.locator(".heat-spot").count() >= 1
    assert table.get_by_role("rowheader").count() >= 1
    assert table.get_by_role("columnheader").all_inner_texts() == ["Move", "Policy", "Visits"]
    assert "simulations · weights of step" in page.locator(".decision").inner_text()
    page.get_by_role("img", name="Winning chances").wait_for()
    curve = page.get_by_role("img", name=re.compile("^Value over"))
    box = curve.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_url("**ply=*")
    assert num_stones(page) > 1


def test_a_position_can_be_searched_again_and_played_from(dash: Dash, page: "Page") -> None:
    open_first_game(page, dash, ply=2)
    page.get_by_role("button", name="Search this position").click()
    page.get_by_role("table", name="Top moves of the search").wait_for()
    page.get_by_role("link", name="Play from this position").click()
    page.wait_for_url("**/play?game=*")
    page.locator(".board").wait_for()
    assert num_stones(page) == 2


def test_what_each_player_could_see_is_a_switch(dash: Dash, page: "Page") -> None:
    start_game(page, dash, "beastybar")
    play_on(page, play_first_card)
    page.get_by_role("button", name="Save and step through").click()
    page.wait_for_url("**/played/*")
    page.locator(".bb").wait_for()
    backs = page.locator(".card-back")
    assert backs.count() == 0
    page.get_by_role("button", name="As first player").click()
    until(lambda: backs.count() == 4)
    assert page.locator(".bb-side-1 .card-back").count() == 4
    page.get_by_role("button", name="As second player").click()
    until(lambda: page.locator(".bb-side-0 .card-back").count() == 4)


@pytest.mark.parametrize(("size", "colours"), [(WIDE, "light"), (PHONE, "dark")])
def test_boards_fit_their_window_and_are_accessible(
    dash: Dash, browser: "Browser", size: tuple[int, int], colours: str
) -> None:
    check_pages(dash, browser, size, colours)


@pytest.mark.long
@pytest.mark.parametrize(("size", "colours"), [(WIDE, "dark"), (PHONE, "light")])
def test_boards_fit_their_window_in_the_other_colours_too(
    dash: Dash, browser: "Browser", size: tuple[int, int], colours: str
) -> None:
    check_pages(dash, browser, size, colours)


def check_pages(dash: Dash, browser: "Browser", size: tuple[int, int], colours: str) -> None:
    turns = {
        "backgammon": move_checkers,
        "beastybar": play_first_card,
        "connect4": lambda page: page.locator(".column.is-legal").first.click(),
        "gomoku": place_in_line,
    }
    with watched_page(browser, size, colours) as page:
        for game, take_turn in turns.items():
            page.goto(f"{dash.url}/play?game={game}")
            page.locator(".setup-preview svg").first.wait_for()
            check(page, f"{game}, form")
            start_game(page, dash, game)
            until(lambda: page.locator(".standing").inner_text() == "Your move.")
            take_turn(page)
            until(lambda: num_moves(page) >= 2)
            until(lambda: page.locator(".standing").inner_text() == "Your move.")
            check(page, game)
        open_first_game(page, dash, ply=1)
        check(page, "viewer")


def check(page: "Page", where: str) -> None:
    assert sideways_scroll(page) == 0, where
    assert accessibility_faults(page) == [], where
