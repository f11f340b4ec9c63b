"""Games played through the page against an agent, as a person plays them."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from browser import Dash, needs_browser, until, watched_page
from table import (
    FOLLOWS_CHANCES,
    cards_of,
    drop_left,
    is_over,
    is_persons_turn,
    move_checkers,
    num_moves,
    place_in_line,
    play_first_card,
    play_on,
    standing,
    start_game,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Response

pytestmark = needs_browser

GAMES: dict[str, tuple[Callable[["Page"], None], str]] = {
    "connect4": (drop_left, ""),
    "gomoku": (place_in_line, "&option=size=7"),
    "backgammon": (move_checkers, "&option=checkers=2"),
    "beastybar": (play_first_card, ""),
}
"""How to play each game, and options that make it short."""


@pytest.mark.parametrize("game", GAMES)
def test_a_whole_game_is_played_against_an_agent_and_opened_in_the_viewer(
    dash: Dash, page: "Page", game: str
) -> None:
    take_turn, options = GAMES[game]
    start_game(page, dash, game, options=options)
    play_on(page, take_turn)
    assert standing(page) != ""
    assert num_moves(page) > 2
    page.get_by_role("button", name="Save and step through").click()
    page.wait_for_url("**/played/*")
    page.get_by_role("slider", name="Ply").wait_for()
    page.keyboard.press("End")
    until(lambda: page.get_by_role("button", name="One ply on").is_disabled())


@pytest.mark.long
def test_a_whole_game_of_backgammon_with_all_checkers(dash: Dash, page: "Page") -> None:
    start_game(page, dash, "backgammon")
    play_on(page, move_checkers)
    assert is_over(page)


@pytest.mark.long
def test_a_whole_game_of_gomoku_on_a_full_board_against_shipped_weights(
    dash: Dash, page: "Page"
) -> None:
    start_game(page, dash, "gomoku", opponent="best", asks_chances=True)
    play_on(page, place_in_line)
    assert is_over(page)


def test_connect_four_is_played_with_the_keyboard_alone(dash: Dash, page: "Page") -> None:
    page.goto(f"{dash.url}/play?game=connect4")
    page.get_by_role("combobox", name="Opponent").focus()
    page.keyboard.type("Random")
    for _ in range(20):
        if page.evaluate("document.activeElement.textContent") == "Play":
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/play/*")
    page.locator(".column").first.wait_for()
    for _ in range(40):
        if page.evaluate("document.activeElement.classList.contains('column')"):
            break
        page.keyboard.press("Tab")
    for key in ("Home", "ArrowRight", "ArrowRight", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.dataset.action") == "3"

    def drop_with_keys(_: "Page") -> None:
        page.keyboard.press("Home")
        column = page.locator(".column.is-legal").last.get_attribute("data-action")
        for _step in range(int(column or 0)):
            page.keyboard.press("ArrowRight")
        page.keyboard.press("Enter")

    play_on(page, drop_with_keys)
    assert is_over(page)


def test_the_opponents_hand_is_nowhere_in_the_pages_data(dash: Dash, page: "Page") -> None:
    answers: list[dict[str, Any]] = []

    def keep(response: "Response") -> None:
        if "/api/v1/plays" in response.url and response.ok:
            answers.append(response.json())

    page.on("response", keep)
    start_game(page, dash, "beastybar")
    play_on(page, play_first_card)
    assert len(answers) > 12
    seen = [answer["seen"] for answer in answers]
    public: set[str] = set()
    for answer, table in zip(answers, seen, strict=True):
        assert answer["view"] == "0"
        assert isinstance(table["hands"][1], int)
        assert isinstance(table["piles"][0], int)
        assert isinstance(table["piles"][1], int)
        assert answer["position_text"] is None
        public.update(table["queue"], table["bar"], table["thats_it"])
        played = {f"{turn['text'].split()[0]}1" for turn in answer["turns"] if turn["player"] == 1}
        assert cards_of(json.dumps(answer), 1) <= public | played
    assert cards_of(page.content(), 1) <= public


def test_a_hint_is_marked_and_explained_and_moves_are_taken_back(dash: Dash, page: "Page") -> None:
    start_game(page, dash, "connect4", opponent="playout", asks_chances=True)
    page.get_by_role("img", name="Winning chances: You").wait_for()
    page.get_by_role("button", name="Hint").click()
    page.get_by_role("table", name="Top moves of the search").wait_for()
    assert page.locator(".board-hint").count() == 1
    assert page.locator(".thoughts-line").inner_text().startswith("Principal line")
    page.locator(".column.is-legal").first.click()
    until(lambda: num_moves(page) == 2 and is_persons_turn(page))
    page.get_by_role("button", name="Why its move?").click()
    page.get_by_role("heading", name="Why Plain MCTS played").wait_for()
    page.get_by_role("button", name="Take back").click()
    until(lambda: num_moves(page) == 0)


def test_pasted_positions_are_read_shown_and_linked(dash: Dash, browser: "Browser") -> None:
    with watched_page(browser, expected=["409"]) as page:
        page.goto(f"{dash.url}/play?game=backgammon")
        field = page.get_by_label("Start from a position")
        field.fill("4HPwATDgc/ABMA")
        page.get_by_text("Read as a GnuBG position ID.").wait_for()
        page.get_by_role("radio", name="Gomoku").check()
        field.fill("1. H8 I9 2. G7")
        page.get_by_text("Read as a list of moves.").wait_for()
        page.locator('.cell[aria-label="h8, First"]').wait_for()
        field.fill("h8 h8")
        page.get_by_role("alert").wait_for()
        field.fill("h8 i9")
        page.get_by_role("combobox", name="Opponent").select_option("random")
        page.get_by_text("Read as a list of moves.").wait_for()
        page.get_by_role("button", name="Play", exact=True).click()
        page.wait_for_url("**/play/*")
        page.get_by_role("link", name="This position").click()
        page.wait_for_url("**/play?game=gomoku&position=h8+i9*")
        assert page.get_by_label("Start from a position").input_value() == "h8 i9"
        page.locator('.cell[aria-label="i9, Second"]').wait_for()


def test_another_game_has_the_same_opponent_as_strong_as_before(dash: Dash, page: "Page") -> None:
    page.goto(f"{dash.url}/play?game=connect4&position=112233")
    page.get_by_role("combobox", name="Opponent").select_option("playout")
    page.get_by_role("button", name="Hard").click()
    page.get_by_role("button", name="Other").click()
    page.get_by_label("Simulations per move").fill("10")
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_url("**/play/*")
    page.locator(".column.is-legal").nth(3).click()
    until(lambda: is_over(page))
    with page.expect_response(lambda answer: answer.request.method == "POST") as answered:
        page.get_by_role("button", name="Change sides").click()
    agent, person = answered.value.json()["seats"]
    assert person["player"] == "human"
    assert (agent["player"], agent["difficulty"]) == ("playout", "hard")
    assert agent["num_simulations"] == 40


def test_two_agents_can_be_watched_and_paused(dash: Dash, page: "Page") -> None:
    page.goto(f"{dash.url}/play?game=tictactoe")
    page.get_by_role("button", name="Watch two agents").click()
    page.get_by_role("combobox", name="First player").select_option("random")
    page.get_by_role("combobox", name="Second player").select_option("heuristic")
    page.get_by_role("button", name="Watch", exact=True).click()
    page.wait_for_url("**/play/*")
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("button", name="Resume").wait_for()
    page.wait_for_timeout(900)
    before = num_moves(page)
    page.get_by_role("button", name="One turn").click()
    until(lambda: num_moves(page) == before + 1)


def test_each_step_of_a_turn_is_shown_one_after_the_other(dash: Dash, browser: "Browser") -> None:
    context = browser.new_context(reduced_motion="no-preference")
    page = context.new_page()
    start_game(page, dash, "beastybar")
    until(lambda: is_persons_turn(page) and page.get_by_role("button", name="Skip").count() == 0)
    play_first_card(page)
    page.locator(".bb-card.is-acting").wait_for()
    page.get_by_text("You send the").wait_for()
    for _ in range(12):
        if (skip := page.get_by_role("button", name="Skip")).count() == 0:
            break
        skip.click()
        page.wait_for_timeout(200)
    page.get_by_role("button", name="Show again").click()
    page.get_by_role("button", name="Skip").wait_for()
    context.close()


def test_a_custom_game_is_shown_by_its_picture_and_played_by_buttons(
    runs: Path, page: "Page"
) -> None:
    game = f"{Path(__file__).parents[1] / 'support' / 'nim.py'}:Nim"
    with Dash(runs, "dash", "--port", "0", "--game", game) as dash:
        page.add_init_script(f"localStorage.setItem('{FOLLOWS_CHANCES}', 'off')")
        page.goto(f"{dash.url}/play?game=nim")
        page.get_by_role("combobox", name="Opponent").select_option("random")
        page.get_by_role("button", name="Play", exact=True).click()
        page.locator(".text-picture").wait_for()
        play_on(page, lambda page: page.locator(".text-moves button").first.click())
        assert is_over(page)
