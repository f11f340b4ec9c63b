"""Live updates: one WebSocket per page, one watcher per run for all pages together.

A watcher looks at the run's files once a second while a page listens, and sends each page only what
is new. A page that does not read is closed rather than kept waiting for.
"""

import asyncio
import json
import secrets
import time
from contextlib import suppress
from importlib.metadata import version
from typing import Any, Literal

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from zerofleet.errors import ZerofleetError
from zerofleet.runs.folder import find
from zerofleet.web.safety import MAX_MESSAGE_BYTES
from zerofleet.web.schema import Hello, LiveMessage, LiveStatus, NewRecords, RunEvent
from zerofleet.web.services import Services

LOOK_S = 1.0
"""Between two looks at a run, for few pages."""
MAX_PAGES_PER_S = 50
"""Pages that are sent something per second; with more pages the looks are further apart."""
MAX_UNSENT = 64
"""Messages that may wait for a page before its connection is closed."""
SERVER = secrets.token_hex(8)
"""Another after each start."""
NORMAL, POLICY, TRY_LATER = 1000, 1008, 1013
"""Codes of a closed WebSocket."""
MAX_EVENTS = 1000
MAX_POINTS = 400
"""Rows of new records in a message."""

Kind = Literal["train", "status"]


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

    @property
    def watched(self) -> list[str]:
        """Runs that pages are open for."""
        return list(self._pages)

    async def connect(self, socket: WebSocket) -> None:
        """Serves one page until it leaves."""
        run = socket.query_params.get("run", "")
        await socket.accept()
        try:
            await self._services.in_thread(find, run)
        except ZerofleetError as error:
            await socket.close(POLICY, str(error)[:100])
            return
        page = Page(socket)
        about = Hello(server=SERVER, program=version("zerofleet"), time=time.time(), run=run)
        page.put(message_text("hello", about.model_dump()))
        self._pages.setdefault(run, set()).add(page)
        if run not in self._watchers:
            self._watchers[run] = asyncio.create_task(self._watch(run))
        sending = asyncio.create_task(send(page))
        try:
            await receive(socket)
        finally:
            sending.cancel()
            self._pages[run].discard(page)
            if not self._pages[run]:
                del self._pages[run]
                self._watchers.pop(run).cancel()
            if socket.client_state is WebSocketState.CONNECTED:
                with suppress(RuntimeError):
                    await socket.close(NORMAL)

    async def _watch(self, run: str) -> None:
        """Sends what is new in a run to all its pages."""
        look = RunLook(self._services, run)
        while True:
            messages = await self._services.in_thread(look.news)
            pages = list(self._pages.get(run, ()))
            for page in pages:
                for message in messages:
                    page.put(message)
            await asyncio.sleep(max(LOOK_S, len(pages) / MAX_PAGES_PER_S))


async def send(page: Page) -> None:
    """Sends a page what is for it; closes one that does not read."""
    with suppress(WebSocketDisconnect, RuntimeError):
        while not page.is_slow:
            await page.socket.send_text(await page.unsent.get())
        await page.socket.close(TRY_LATER)


async def receive(socket: WebSocket) -> None:
    """Returns when a page leaves. Pages send nothing but, at most, a short ping."""
    is_there = True
    while is_there:
        message = await socket.receive()
        size = len(message.get("text") or message.get("bytes") or "")
        is_there = message["type"] != "websocket.disconnect" and size <= MAX_MESSAGE_BYTES


class RunLook:
    """What is new in a run since the last look. The first look tells the status alone."""

    def __init__(self, services: Services, run: str) -> None:
        self._services, self._run = services, run
        self._last_steps: dict[Kind, int] | None = None
        """Of the newest record of each kind; None before the first look."""
        self._num_ratings = 0
        self._num_changes = -1
        self._events: set[tuple[float, str]] = set()
        self._fleet = ""

    def news(self) -> list[str]:
        """Messages for the pages; none where nothing is new or the run is gone."""
        try:
            return [*self._metrics(), *self._fleet_news()]
        except (ZerofleetError, OSError):
            return []

    def _metrics(self) -> list[str]:
        runs = self._services.runs
        records = runs.records(self._run)
        if records.num_changes == self._num_changes:
            return []
        before = self._last_steps
        self._num_changes = records.num_changes
        self._last_steps = {
            "train": records.train[-1]["step"] if records.train else -1,
            "status": records.status[-1]["step"] if records.status else -1,
        }
        update = runs.update(self._run)
        new = [] if before is None else [self._new(kind, step) for kind, step in before.items()]
        status = LiveStatus(**dict(update), new_records=[each for each in new if each])
        found = [message_text("status", status.model_dump(mode="json"))]
        ratings, num_rated = runs.ratings(self._run), self._num_ratings
        events, known = runs.events(self._run, MAX_EVENTS), self._events
        self._num_ratings, self._events = len(ratings), {key_of(each) for each in events}
        if before is None:
            return found
        rated = [message_text("rating", each.model_dump()) for each in ratings[num_rated:]]
        happened = [
            message_text("event", each.model_dump())
            for each in reversed(events)
            if key_of(each) not in known
        ]
        return [*found, *rated, *happened]

    def _new(self, kind: Kind, last_step: int) -> NewRecords | None:
        """Records from the last step on: a run that waits writes several at one step."""
        after_step = max(-1, last_step - 1)
        table = self._services.runs.metrics(self._run, kind, after_step, MAX_POINTS)
        return NewRecords(after_step=after_step, table=table) if table.num_records else None

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
