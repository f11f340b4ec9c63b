"""Answers about runs that many pages ask for at once: computed once a second, not once per page.

An ASGI layer before the API. It keeps what GET requests about runs, ladder and games were answered,
for a second, and compressed once. Whoever asks for the same meanwhile waits for that answer.
Answers about games in play pass through: they are one person's.
"""

import asyncio
import gzip
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field

from starlette.types import ASGIApp, Message, Receive, Scope, Send

KEPT_S = 1.0
PREFIXES = (
    "/api/v1/runs",
    "/api/v1/ladder",
    "/api/v1/games",
    "/api/v1/players",
    "/api/v1/lend/community",
)
MAX_KEPT = 256
MAX_KEPT_BYTES = 64 << 20
MIN_COMPRESSED_BYTES = 2048
GZIP_LEVEL = 5

Headers = list[tuple[bytes, bytes]]


@dataclass
class Kept:
    """An answer, or the place where the first request for it will put one."""

    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    at_s: float = -KEPT_S
    status: int = 0
    headers: Headers = field(default_factory=list)
    body: bytes = b""
    compressed: bytes = b""

    @property
    def is_fresh(self) -> bool:
        return time.monotonic() - self.at_s < KEPT_S

    def take(self, messages: Sequence[Message]) -> None:
        """Takes the messages that an application has sent."""
        start = next(each for each in messages if each["type"] == "http.response.start")
        self.status, self.headers = start["status"], list(start.get("headers", []))
        self.body = b"".join(
            each.get("body", b"") for each in messages if each["type"] == "http.response.body"
        )
        is_large = len(self.body) >= MIN_COMPRESSED_BYTES
        self.compressed = gzip.compress(self.body, GZIP_LEVEL, mtime=0) if is_large else b""
        self.at_s = time.monotonic()

    async def send(self, send: Send, takes_gzip: bool) -> None:
        is_compressed = takes_gzip and bool(self.compressed)
        body = self.compressed if is_compressed else self.body
        headers = [each for each in self.headers if each[0] != b"content-length"]
        headers += [
            (b"content-length", str(len(body)).encode()),
            (b"cache-control", b"no-store"),
            (b"vary", b"accept-encoding"),
        ]
        if is_compressed:
            headers.append((b"content-encoding", b"gzip"))
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})


class KeptAnswers:
    """The layer. All of it runs in the event loop."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self._kept: OrderedDict[tuple[str, bytes], Kept] = OrderedDict()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        is_kept = scope["type"] == "http" and scope["method"] == "GET"
        if not is_kept or not scope["path"].startswith(PREFIXES):
            await self._app(scope, receive, send)
            return
        kept = self._place(scope)
        async with kept.lock:
            if not kept.is_fresh:
                messages: list[Message] = []
                await self._app(scope, receive, collecting(messages))
                kept.take(messages)
        accepted = dict(scope["headers"]).get(b"accept-encoding", b"")
        await kept.send(send, b"gzip" in accepted)

    def _place(self, scope: Scope) -> Kept:
        key = scope["path"], scope["query_string"]
        kept = self._kept.setdefault(key, Kept())
        self._kept.move_to_end(key)
        while len(self._kept) > MAX_KEPT or self._num_bytes() > MAX_KEPT_BYTES:
            self._kept.popitem(last=False)
        return kept

    def _num_bytes(self) -> int:
        return sum(len(each.body) + len(each.compressed) for each in self._kept.values())


def collecting(messages: list[Message]) -> Send:
    async def collect(message: Message) -> None:
        messages.append(message)

    return collect
