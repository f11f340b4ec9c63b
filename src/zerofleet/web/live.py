"""Live updates: one WebSocket per page, one watcher per run for all pages together.

A watcher looks at the run's files once a second while a page listens, and sends each page only what
is new. A page that does not read is closed rather than kept waiting for.
"""

import asyncio
import json
import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from typing import Any

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from zerofleet.errors import ZerofleetError
from zerofleet.web.safety import MAX_MESSAGE_BYTES
from zerofleet.web.schema import Hello, LiveMessage, RunEvent
from zerofleet.web.services import Services

LOOK_S = 1.0
MAX_UNSENT = 64
"""Messages that may wait for a page before its connection is closed."""
SERVER = secrets.token_hex(8)
"""Another after each start."""
TRY_LATER, POLICY = 1013, 1008
"""Codes of a closed WebSocket."""

Look = Callable[[], list[str]]


class Page:
    """A connected page and what it has not been sent yet."""

    def __init__(self, socket: WebSocket) -> None:
        self.socket = socket
        self.unsent: asyncio.Queue[str] = asyncio.Queue(MAX_UNSENT)
        self.is_slow = False

    def put(self, message: str) -> None:
        try:
            self.unsent.put_nowait(message)
        except asyncio.QueueFull:
            self.is_slow = True


class Live:
    """All connected pages."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._pages: dict[str, set[Page]] = {}
        self._watchers: dict[str, asyncio.Task[None]] = {}

    async def connect(self, socket: WebSocket) -> None:
        """Serves one page until it leaves."""
        run = socket.query_params.get("run", "")
        await socket.accept()
        try:
            look = RunLook(self._services, run)
            await self._services.in_thread(look.start)
        except ZerofleetError as error:
            await socket.close(POLICY, str(error)[:100])
            return
        page = Page(socket)
        about = Hello(server=SERVER, program=version("zerofleet"), time=time.time(), run=run)
        page.put(message_text("hello", about.model_dump()))
        self._pages.setdefault(run, set()).add(page)
        if run not in self._watchers:
            self._watchers[run] = asyncio.create_task(self._watch(run, look))
        try:
            await asyncio.gather(self._send(page), receive(socket))
        except (WebSocketDisconnect, RuntimeError, Left):
            pass
        finally:
            self._pages[run].discard(page)
            if not self._pages[run]:
                del self._pages[run]
                self._watchers.pop(run).cancel()
            if socket.client_state is WebSocketState.CONNECTED:
                with suppress(RuntimeError):
                    await socket.close(TRY_LATER if page.is_slow else 1000)

    async def _send(self, page: Page) -> None:
        while not page.is_slow:
            await page.socket.send_text(await page.unsent.get())
        raise Left

    async def _watch(self, run: str, look: "RunLook") -> None:
        """Sends what is new in a run to all its pages."""
        while True:
            messages = await self._services.in_thread(look.news)
            for page in self._pages.get(run, set()):
                for message in messages:
                    page.put(message)
            await asyncio.sleep(LOOK_S)


class Left(Exception):
    """A page is gone, or does not read what it is sent."""


async def receive(socket: WebSocket) -> None:
    """Pages send nothing but, at most, a short ping."""
    while True:
        message = await socket.receive()
        if message["type"] == "websocket.disconnect":
            raise Left
        if len(message.get("text") or message.get("bytes") or "") > MAX_MESSAGE_BYTES:
            raise Left


class RunLook:
    """What is new in a run since the last look."""

    def __init__(self, services: Services, run: str) -> None:
        self._services, self._run = services, run
        self._num_train = self._num_ratings = self._changes = 0
        self._events: set[tuple[float, str]] = set()
        self._fleet = ""
        self._num_episodes = -1

    def start(self) -> None:
        """Remembers what there is. Raises where there is no such run."""
        records = self._services.runs.records(self._run)
        self._num_train, self._num_ratings = len(records.train), len(records.rating)
        self._events = {key_of(each) for each in self._services.runs.events(self._run, 1000)}

    def news(self) -> list[str]:
        """Messages for the pages; none where nothing is new or the run is gone."""
        try:
            return [*self._metrics(), *self._fleet_news()]
        except (ZerofleetError, OSError):
            return []

    def _metrics(self) -> list[str]:
        runs = self._services.runs
        records = runs.records(self._run)
        if records.num_changes == self._changes:
            return []
        is_first, self._changes = self._changes == 0, records.num_changes
        update = runs.update(self._run)
        found = [message_text("status", update.model_dump(mode="json"))]
        if is_first:
            return found
        if len(records.train) > self._num_train:
            newest = {name: value for name, value in records.train[-1].items() if name != "kind"}
            found.append(message_text("train", newest))
        if len(records.rating) > self._num_ratings:
            for point in runs.ratings(self._run)[self._num_ratings :]:
                found.append(message_text("rating", point.model_dump(mode="json")))
        self._num_train, self._num_ratings = len(records.train), len(records.rating)
        events = runs.events(self._run, 1000)
        new = [each for each in events if key_of(each) not in self._events]
        self._events = {key_of(each) for each in events}
        found += [message_text("event", each.model_dump(mode="json")) for each in reversed(new)]
        if update.totals.games != self._num_episodes:
            self._num_episodes = update.totals.games
            found.append(message_text("episodes", {"total": update.totals.games}))
        return found

    def _fleet_news(self) -> list[str]:
        answer = self._services.fleets.look(self._run)
        if not answer.is_reachable and not answer.roles:
            return []
        text = message_text("fleet", answer.model_dump(mode="json"))
        if text == self._fleet:
            return []
        self._fleet = text
        return [text]


def key_of(event: RunEvent) -> tuple[float, str]:
    return event.time, event.text


def message_text(kind: str, data: dict[str, Any]) -> str:
    message = LiveMessage.model_validate({"type": kind, "data": data})
    return json.dumps(message.model_dump(mode="json"), allow_nan=False)
