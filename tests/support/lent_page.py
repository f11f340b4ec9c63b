"""The page Lend as a person uses it, driven by Playwright."""

import json
from typing import TYPE_CHECKING

from browser import until

if TYPE_CHECKING:
    from bare_tab import BareTab
    from lending_client import Lender
    from playwright.sync_api import Page

PATIENCE_S = 60


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


BUTTON = "[...document.querySelectorAll('button')].find((each) => each.innerText.trim() == '{}')"


def start_lending_in(tab: "BareTab", lender: "Lender", cpu: int = 100) -> None:
    """The same in a tab that Playwright does not hold, on a page of the server."""
    choice = json.dumps({"duty": {"cpu": cpu, "gpu": 0}})
    tab.evaluate(f"localStorage.setItem('zerofleet.lend.token', '{lender.token}')")
    tab.evaluate(f"localStorage.setItem('zerofleet.lend.choice', '{choice}')")
    tab.evaluate("void (location.href = '/lend')")
    button = BUTTON.format("Start")
    until(lambda: tab.evaluate(f"Boolean({button})"), PATIENCE_S)
    tab.evaluate(f"{button}.click()")


STORED = """
() => new Promise((resolve, reject) => {
  const asked = indexedDB.open("zerofleet-lend");
  asked.onerror = () => reject(asked.error);
  asked.onsuccess = () => {
    const all = asked.result.transaction("games").objectStore("games").getAll();
    all.onsuccess = () => {
      asked.result.close();
      resolve(all.result.map(({ id }) => id));
    };
  };
})
"""


def stored_games(page: "Page") -> set[tuple[int, int]]:
    """Ids of the finished games that the browser keeps, since the gateway has not accepted them.
    Only once it has lent."""
    texts: list[str] = page.evaluate(STORED)
    return {
        (int(worker), int(sequence)) for worker, sequence in (each.split(":") for each in texts)
    }
