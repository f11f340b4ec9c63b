"""The page Lend as a person uses it, driven by Playwright."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from playwright.sync_api import Page


def start_lending(page: "Page", url: str, name: str = "Ada", cpu: int = 100) -> None:
    """Opens the page, signs up where it asks, and starts. `cpu` is in percent."""
    page.goto(url + "/lend")
    button = page.get_by_role("button", name="Start")
    sign_up = page.get_by_role("button", name="Sign up")
    button.or_(sign_up).wait_for()
    if sign_up.is_visible():
        page.get_by_label("Your name on the community page").fill(name)
        page.get_by_label("I agree", exact=True).check()
        sign_up.click()
    page.get_by_label("CPU").fill(str(cpu))
    button.click()


def phase(page: "Page") -> str:
    """What the page says that it does."""
    return page.locator(".lend-phase").inner_text()


def totals(page: "Page") -> str:
    """Games since the start, and others of the first figures."""
    return page.locator(".figures").first.inner_text()
