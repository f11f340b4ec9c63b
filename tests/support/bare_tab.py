"""A tab that Playwright does not hold: it is hidden when another is in front, and then throttled.

Playwright keeps all of its pages visible. This one lies in the browser's own window and is driven
by the DevTools protocol alone, through a session of the browser.

    with chromium(ignored=THROTTLED) as browser:
        tab, other = BareTab(browser, url), BareTab(browser)
        tab.evaluate("document.visibilityState")      # "hidden", since `other` came later
"""

import itertools
import json
import time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from playwright.sync_api import Browser

THROTTLED = (
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
"""What Playwright starts Chromium with, and a person does not."""
PATIENCE_S = 30.0


class BareTab:
    """Opens in front."""

    _numbers = itertools.count(1)

    def __init__(self, browser: "Browser", url: str = "about:blank") -> None:
        self._session = browser.new_browser_cdp_session()
        self._answers: dict[int, dict[str, Any]] = {}
        self._session.on("Target.receivedMessageFromTarget", self._heard)
        self._target = self._session.send("Target.createTarget", {"url": url})["targetId"]
        attach = {"targetId": self._target, "flatten": False}
        self._id = self._session.send("Target.attachToTarget", attach)["sessionId"]
        end_s = time.monotonic() + PATIENCE_S
        while self.evaluate("location.href") != url:
            assert time.monotonic() < end_s, f"{url} was not opened"

    def _heard(self, event: dict[str, Any]) -> None:
        message = json.loads(event["message"])
        if event["sessionId"] == self._id and "id" in message:
            self._answers[message["id"]] = message

    def front(self) -> None:
        self._session.send("Target.activateTarget", {"targetId": self._target})

    def evaluate(self, text: str) -> Any:
        """The value of an expression, awaited where it is a promise."""
        end_s = time.monotonic() + PATIENCE_S
        while "error" in (answer := self._evaluated(text)):  # no page, just between two
            assert time.monotonic() < end_s, answer["error"]
        found = answer["result"]
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def _evaluated(self, text: str) -> dict[str, Any]:
        number = next(self._numbers)
        params = {"expression": text, "awaitPromise": True, "returnByValue": True}
        asked = json.dumps({"id": number, "method": "Runtime.evaluate", "params": params})
        self._session.send("Target.sendMessageToTarget", {"sessionId": self._id, "message": asked})
        end_s = time.monotonic() + PATIENCE_S
        while number not in self._answers:
            assert time.monotonic() < end_s, f"no answer to {text}"
            self._session.send("Target.getTargets")  # lets events in
            time.sleep(0.02)
        return self._answers.pop(number)

    def close(self) -> None:
        self._session.send("Target.closeTarget", {"targetId": self._target})
        self._session.detach()
