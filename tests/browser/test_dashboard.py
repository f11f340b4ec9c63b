"""The pages about runs, their games, the ladder and the fleet, in a real browser."""

import os
import re
import signal
import subprocess
from pathlib import Path
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
from command_line import ZEROFLEET
from redis_server import needs_redis
from short_runs import train_command

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page, Route

pytestmark = needs_browser

PAGES = {
    "/runs": "Runs",
    "/runs/first": "first",
    "/runs/first?beside=second&x=games": "first",
    "/runs/first/games": "first",
    "/ladder": "Ladder",
    "/fleet": "Fleet",
}
"""Addresses and the heads of their pages."""
MAX_FIRST_PAGE_BYTES = 300_000


def open_page(page: "Page", dash: Dash, address: str) -> None:
    """Opens an address and waits until nothing on it says that it is loading."""
    page.goto(dash.url + address)
    page.locator("h1").wait_for()
    until(lambda: page.locator(".loading").count() == 0)


def cells(page: "Page", column: str) -> list[str]:
    return page.locator(f"td[data-label={column}]").all_inner_texts()


def is_descending(numbers: list[str]) -> bool:
    return [*map(int, numbers)] == sorted(map(int, numbers), reverse=True)


@pytest.mark.parametrize(
    ("size", "colours"),
    [
        (WIDE, "light"),
        (PHONE, "dark"),
        pytest.param(WIDE, "dark", marks=pytest.mark.long),
        pytest.param(PHONE, "light", marks=pytest.mark.long),
    ],
)
def test_every_page_fits_its_window_and_is_accessible(
    dash: Dash, browser: "Browser", size: tuple[int, int], colours: str
) -> None:
    with watched_page(browser, size, colours) as page:
        for address, head in PAGES.items():
            open_page(page, dash, address)
            assert page.locator("h1").inner_text().startswith(head), address
            assert sideways_scroll(page) == 0, address
            assert accessibility_faults(page) == [], address


def test_the_list_of_runs_leads_to_a_run_and_its_games(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/")
    assert page.url == dash.url + "/runs"
    page.get_by_role("link", name="first", exact=True).click()
    page.wait_for_url("**/runs/first")
    page.get_by_role("link", name="Games", exact=True).click()
    page.wait_for_url("**/runs/first/games")
    page.get_by_role("link", name=re.compile("^Game ")).first.wait_for()
    page.go_back()
    page.wait_for_url("**/runs/first")


def test_a_run_shows_strength_losses_stages_settings_and_events(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs/first")
    for title in ("Pipeline", "Strength", "Losses", "Throughput", "Settings", "Events"):
        page.get_by_role("heading", name=title, exact=True).wait_for()
    stages = page.get_by_role("table", name="Stages of the pipeline")
    assert stages.get_by_role("rowheader").count() == 5
    page.locator("canvas").first.wait_for()
    page.get_by_role("img", name=re.compile("^Policy: ")).wait_for()
    differs = page.get_by_role("table", name="Settings that differ from preset fast")
    differs.get_by_role("rowheader", name="search.num_simulations").wait_for()
    assert page.locator(".events li").filter(has_text="checkpoint").count() > 0


def test_charts_run_along_time_games_or_steps(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs/first")
    page.get_by_role("button", name="Steps").click()
    page.wait_for_url("**/runs/first?x=step")
    page.get_by_role("img", name=re.compile(r"^Elo: .* at 200 steps")).wait_for()
    page.get_by_role("button", name="Games").click()
    page.get_by_role("img", name=re.compile(r"^Elo: .* games$")).wait_for()


def test_the_arrow_keys_move_along_a_chart(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs/first?x=step")
    chart = page.get_by_role("img", name=re.compile("^Policy: "))
    chart.locator("canvas").wait_for()
    chart.focus()
    page.keyboard.press("ArrowLeft")
    figure = page.locator("figure", has=chart)
    assert "steps" in figure.locator(".chart-x").inner_text()


def test_two_runs_stand_side_by_side_with_what_differs(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs/first")
    page.get_by_label("Beside it").select_option("second")
    page.wait_for_url("**/runs/first?beside=second")
    page.get_by_role("table", name="Settings that differ from second").wait_for()
    row = page.get_by_role("row", name=re.compile(r"search\.num_simulations"))
    assert row.get_by_role("cell").all_inner_texts() == ["8", "4"]
    legend = page.locator("figure", has=page.get_by_text("Elo", exact=True))
    assert re.search(r"first.*second", legend.inner_text(), re.DOTALL)


def test_games_can_be_ordered_filtered_and_paged(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs/first/games")
    rows = page.get_by_role("table", name="Games").locator("tbody tr")
    rows.first.wait_for()
    assert rows.count() == 50
    page.get_by_role("link", name="Next").click()
    page.wait_for_url("**/games?from=50")
    open_page(page, dash, "/runs/first/games?from=1000000")
    page.get_by_text("The list ends after").wait_for()
    page.get_by_role("link", name="Show the first ones").click()
    page.get_by_role("link", name="Longest").click()
    page.wait_for_url("**/games?order=longest")
    until(lambda: is_descending(cells(page, "Plies")))
    choice = page.get_by_label("Weights")
    version = choice.locator("option").nth(1).get_attribute("value")
    assert version is not None
    choice.select_option(version)
    page.wait_for_url(f"**/games?order=longest&version={version}")
    until(lambda: set(cells(page, "Weights")) == {f"step {version}"})


def test_a_list_that_is_still_being_read_grows_however_slow_the_answers_are(
    dash: Dash, page: "Page"
) -> None:
    num_answers = 0

    def answer_slowly(route: "Route") -> None:
        nonlocal num_answers
        num_answers += 1
        page.wait_for_timeout(1500)
        answer = route.fetch()
        if num_answers == 1:
            unread = {"total": 0, "num_indexed": 0, "is_complete": False, "episodes": []}
            route.fulfill(response=answer, json=answer.json() | unread)
        else:
            route.fulfill(response=answer)

    page.route("**/api/v1/runs/first/episodes?**", answer_slowly)
    open_page(page, dash, "/runs/first/games")
    page.get_by_role("link", name=re.compile("^Game ")).first.wait_for()


def test_the_ladder_has_every_rated_player_with_its_interval(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/ladder")
    ratings = page.get_by_role("table", name="Ratings with 95 % intervals")
    names = ratings.get_by_role("rowheader").all_inner_texts()
    assert {"random", "first, step 200", "second, step 200"} <= set(names)
    page.get_by_role("table", name="Head to head").get_by_role("cell").first.wait_for()
    page.get_by_label("Run").select_option("second")
    page.wait_for_url("**/ladder?run=second")
    until(lambda: "first" not in ratings.inner_text())


def test_a_fleet_that_is_not_there_is_explained_with_what_to_do(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/fleet?run=first")
    page.get_by_role("heading", name="No fleet to show").wait_for()
    page.get_by_text("zerofleet fleet local").wait_for()


def test_an_unknown_run_is_answered_in_the_words_of_the_server(
    dash: Dash, browser: "Browser"
) -> None:
    with watched_page(browser, expected=["404"]) as page:
        open_page(page, dash, "/runs/nobody")
        said = page.get_by_role("alert").inner_text()
        assert "nobody" in said
        open_page(page, dash, "/play?game=nim")
        assert "unknown game nim; known: backgammon" in page.get_by_role("alert").inner_text()
        page.goto(dash.url + "/nowhere")
        page.get_by_role("heading", name="There is no such page").wait_for()


def test_without_runs_the_page_says_how_to_start_one(tmp_path: Path, browser: "Browser") -> None:
    with Dash(tmp_path) as dash, watched_page(browser) as page:
        open_page(page, dash, "/runs")
        page.get_by_text("zerofleet train connect4").wait_for()
        open_page(page, dash, "/ladder")
        page.get_by_role("heading", name="No ratings yet").wait_for()
        rate = page.locator(".command").inner_text().removeprefix("zerofleet ")
        rating = [str(ZEROFLEET), *rate.split(), "--games", "2"]
        assert subprocess.run(rating, timeout=120).returncode == 0
        open_page(page, dash, "/fleet")
        page.get_by_role("heading", name="No fleet to show").wait_for()


def test_dark_colours_are_chosen_by_a_switch_and_kept(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs")
    background = "getComputedStyle(document.documentElement).backgroundColor"
    light = page.evaluate(background)
    page.get_by_role("switch", name="Dark colours").click()
    dark = page.evaluate(background)
    assert dark != light
    open_page(page, dash, "/runs")
    assert page.evaluate(background) == dark


def test_the_keyboard_reaches_the_content_and_focus_is_seen(dash: Dash, page: "Page") -> None:
    open_page(page, dash, "/runs")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to content"
    for _ in range(8):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") in ("first", "second")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/runs/(first|second)$"))


@pytest.mark.parametrize("address", ["/runs", "/runs/first", "/play"])
def test_a_first_page_is_at_most_300_kb_over_the_wire(
    dash: Dash, page: "Page", address: str
) -> None:
    sizes: list[int] = []
    page.on("requestfinished", lambda done: sizes.append(done.sizes()["responseBodySize"]))
    open_page(page, dash, address)
    page.wait_for_load_state("networkidle")
    assert 0 < sum(sizes) <= MAX_FIRST_PAGE_BYTES


def test_the_run_page_moves_while_training_runs_and_serves_it(
    tmp_path: Path, browser: "Browser"
) -> None:
    training = train_command("live", "--minutes", "5")
    with Dash(tmp_path, *training) as dash, watched_page(browser) as page:
        open_page(page, dash, "/dashboard")
        assert page.url == dash.url + "/runs/live"
        page.get_by_text("training", exact=True).wait_for()
        figures = page.locator(".figures")
        before = figures.inner_text()
        until(lambda: figures.inner_text() != before, within_s=60)
        page.get_by_role("img", name=re.compile("^Policy: ")).wait_for()


def test_the_page_reconnects_after_the_server_restarts(runs: Path, browser: "Browser") -> None:
    with Dash(runs) as dash, watched_page(browser, expected=["ERR_CONNECTION"]) as page:
        open_page(page, dash, "/runs/first")
        dash.stop()
        page.get_by_text("Reconnecting").wait_for()
        dash.restart()
        page.get_by_text("Reconnecting").wait_for(state="detached")


@needs_redis
@pytest.mark.long
def test_the_fleet_page_shows_each_role_and_its_heartbeat(
    tmp_path: Path, browser: "Browser"
) -> None:
    fleet = ["fleet", "local", *train_command("together", "--minutes", "5")[1:]]
    process = subprocess.Popen(
        [str(ZEROFLEET), *fleet],
        env={**os.environ, "ZEROFLEET_RUNS": str(tmp_path)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until((tmp_path / "together" / "metrics.jsonl").exists, within_s=120)
        with Dash(tmp_path) as dash, watched_page(browser, PHONE, "dark") as page:
            open_page(page, dash, "/fleet?run=together")
            roles = page.get_by_role("table", name="Roles of the fleet")
            for kind in ("trainer", "worker"):
                roles.get_by_role("rowheader", name=re.compile(kind)).first.wait_for()
            assert sideways_scroll(page) == 0
            assert accessibility_faults(page) == []
            figures = page.locator(".figures")
            before = figures.inner_text()
            until(lambda: figures.inner_text() != before, within_s=60)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(120)
