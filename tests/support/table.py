"""Plays games on the page as a person does: by what it shows and by its controls."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from browser import Dash, until

if TYPE_CHECKING:
    from playwright.sync_api import Page

MAX_TURNS = 400
MAX_THOUGHT_S = 60
"""An agent's whole turn, on a machine that others use too."""
FOLLOWS_CHANCES = "zerofleet.chances"
"""Where the page keeps whether winning chances are asked for after every move."""


def start_game(
    page: "Page",
    dash: Dash,
    game: str,
    opponent: str = "random",
    options: str = "",
    asks_chances: bool = False,
) -> None:
    """Starts a game from the form and waits for its board."""
    if not asks_chances:
        page.add_init_script(f"localStorage.setItem('{FOLLOWS_CHANCES}', 'off')")
    page.goto(f"{dash.url}/play?game={game}{options}")
    page.get_by_role("combobox", name="Opponent").select_option(opponent)
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_url("**/play/*")
    page.locator(".table-board svg").first.wait_for()


def standing(page: "Page") -> str:
    return page.locator(".standing").inner_text()


def is_persons_turn(page: "Page") -> bool:
    return standing(page) == "Your move."


def is_over(page: "Page") -> bool:
    return page.get_by_role("button", name="Save and step through").count() > 0


def num_moves(page: "Page") -> int:
    return page.locator(".moves li").count()


def play_on(page: "Page", take_turn: Callable[["Page"], None]) -> None:
    """Plays to the end of the game."""
    for _ in range(MAX_TURNS):
        until(lambda: is_persons_turn(page) or is_over(page), within_s=MAX_THOUGHT_S)
        if is_over(page):
            return
        before = num_moves(page)
        take_turn(page)
        until(lambda before=before: num_moves(page) > before or is_over(page))  # type: ignore[misc]
    raise AssertionError(f"no end after {MAX_TURNS} turns")


def drop_left(page: "Page") -> None:
    """The leftmost open column of Connect Four."""
    page.locator(".column.is-legal").first.click()


def place_in_line(page: "Page") -> None:
    """The last empty cell of a board of stones: a line along the bottom, unless it is blocked."""
    page.locator(".cell.is-legal").last.click()


def play_first_card(page: "Page") -> None:
    page.locator(".bb-pick").first.click()
    page.locator(".bb-moves button").first.click()


def move_checkers(page: "Page") -> None:
    """The first movable checker each time, where it can go first; then the turn."""
    done = page.get_by_role("button", name="Play this turn")
    for _ in range(4):
        if done.is_enabled():
            break
        press(page, page.locator(".place.is-source").first.get_attribute("data-place"))
        press(page, page.locator(".place.is-target").first.get_attribute("data-place"))
    done.click()


def press(page: "Page", place: str | None) -> None:
    """A place of the backgammon board, by its own click handler: checkers of one point overlap."""
    page.locator(f'[data-place="{place}"]').dispatch_event("click")


def cards_of(text: str, owner: int) -> set[str]:
    """The cards of a player that a text names, such as lion1."""
    return set(re.findall(rf"\b[a-z]{{4,9}}{owner}\b", text))
