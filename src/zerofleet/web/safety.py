"""The doors of the server: who may ask, from where, how much and how often.

- The Host must be one of the server's own names, which defeats DNS rebinding.
- A request that changes something, and every WebSocket, must come from a page of this server:
  its Origin must be the Host's, and a browser must not call it cross-site.
- On an address other than loopback every request needs a token. It is given once, as /?token=…,
  and kept in a cookie that scripts cannot read and that other sites' pages do not send.
- Where browsers lend, the pages and paths of lending are open to all, who bring tokens of their
  own; everything else needs the server's token, on loopback too, since a proxy may stand before it.
- Bodies and request rates are bounded per client.
- Answers carry a strict Content-Security-Policy: nothing but this server's own files runs or loads,
  WebAssembly included. Pages are cross-origin isolated, which threads in WebAssembly need.

All of it is one ASGI layer around the application, so that no route can forget it.
"""

import hmac
import ipaddress
import json
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "zerofleet-token"
TOKEN_PARAMETER = "token"
MAX_BODY_BYTES = 256 << 10
MAX_QUERY_BYTES = 8 << 10
MAX_MESSAGE_BYTES = 4 << 10
"""Of a message that a page sends over its WebSocket."""
MAX_SOCKETS = 512
MAX_SOCKETS_PER_CLIENT = 256
"""A proxy or a tunnel makes many people one client."""
MAX_LENT_SOCKETS = 10_000
MAX_LENT_SOCKETS_PER_CLIENT = 64
"""The same of browsers that lend."""

LEND_PAGES = ("/lend", "/community")
LEND_API = "/api/v1/lend"
LEND_OPERATOR = "/api/v1/lend/operator"
LEND_SOCKET = "/lend/v1/socket"

SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "[::1]")

HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; "
        "style-src 'self'; img-src 'self' data:; "
        "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'"
    ),
    "cross-origin-embedder-policy": "require-corp",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
}


@dataclass(frozen=True)
class Rate:
    """A token bucket: so many at once, and so many per second after that."""

    burst: float
    per_s: float


READS = Rate(burst=1500, per_s=200)
CHANGES = Rate(burst=200, per_s=20)
SEARCHES = Rate(burst=100, per_s=10)
SEARCH_ENDINGS = ("/analysis", "/agent")


@dataclass(frozen=True)
class Doors:
    """What the server's address demands."""

    host: str
    port: int
    token: str | None = field(default=None, repr=False)
    """None on loopback."""
    lends: bool = False
    """Whether browsers lend."""
    public_host: str = ""
    """The Host of requests that a proxy passes on; empty without a proxy."""

    @staticmethod
    def on(
        host: str, port: int, token: str | None = None, lends: bool = False, public_host: str = ""
    ) -> "Doors":
        """A token is demanded, and drawn where none is given, unless the address is loopback and
        nobody lends."""
        if is_loopback(host) and not lends:
            return Doors(host, port)
        return Doors(host, port, token or secrets.token_urlsafe(24), lends, public_host.lower())

    def is_open(self, path: str) -> bool:
        """Whether everybody may ask for a path: what lending needs, and files of the pages."""
        if not self.lends or path.startswith(LEND_OPERATOR):
            return False
        if path.startswith("/api/"):
            return path == LEND_API or path.startswith(f"{LEND_API}/")
        is_page = any(path == each or path.startswith(f"{each}/") for each in LEND_PAGES)
        return is_page or path == "/" or "." in path.rpartition("/")[2]

    def allows_host(self, host: str) -> bool:
        """Whether a Host header names this server."""
        if self.public_host and host.lower() == self.public_host:
            return True
        name, port = split_host(host)
        if name in LOOPBACK_NAMES:
            return port == "" or port.isdecimal()  # a tunnel may end at another port
        if port != str(self.port) and not (port == "" and self.port in (80, 443)):
            return False
        if name in (self.host, f"[{self.host}]"):
            return True
        # An address that listens everywhere is reached by any of its names; the token guards it.
        return self.token is not None and is_everywhere(self.host)


class Safety:
    """The ASGI layer."""

    def __init__(self, app: ASGIApp, doors: Doors) -> None:
        self._app = app
        self._doors = doors
        self._limits = RateLimits()
        self._sockets: dict[str, int] = {}
        self._lent_sockets: dict[str, int] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = headers_of(scope)
        fault = self._fault(scope, headers)
        if scope["type"] == "websocket":
            await self._guard_socket(scope, receive, send, fault)
        elif fault is None:
            await self._pass_on(scope, headers, receive, with_headers(send))
        elif fault.status == 303:
            await self._take_token(scope, with_headers(send))
        else:
            await answer(with_headers(send), fault)

    # ---- who may ask

    def _fault(self, scope: Scope, headers: Mapping[str, str]) -> "Fault | None":
        """Why a request is refused; None where it is not. 303: it brings a token."""
        host = headers.get("host", "")
        if not self._doors.allows_host(host):
            return Fault(421, "wrong_host", f"this server is not called {host[:100]!r}")
        if len(scope.get("query_string", b"")) > MAX_QUERY_BYTES:
            return Fault(414, "too_large", f"a query has at most {MAX_QUERY_BYTES:,} bytes")
        is_socket = scope["type"] == "websocket"
        changes = is_socket or scope["method"] not in SAFE_METHODS
        if (changes or "origin" in headers) and not is_same_origin(headers, host, is_socket):
            return Fault(
                403, "foreign_origin", "this request does not come from this server's page"
            )
        if self._doors.token is not None:
            given = cookie_of(headers)
            if given is None or not same_text(given, self._doors.token):
                if not is_socket and self._brings_token(scope):
                    return Fault(303, "", "")
                if self._doors.is_open(scope["path"]):
                    return self._too_often(scope, changes)
                return Fault(
                    401,
                    "no_token",
                    "open /?token=… once, with the token that the server printed when it started",
                )
        return self._too_often(scope, changes)

    def _too_often(self, scope: Scope, changes: bool) -> "Fault | None":
        kind = READS if not changes else CHANGES
        if scope["path"].endswith(SEARCH_ENDINGS):
            kind = SEARCHES
        if not self._limits.allow(client_of(scope), kind):
            return Fault(429, "too_often", "too many requests; try again in a second")
        return None

    def _brings_token(self, scope: Scope) -> bool:
        query = dict(parse_qsl(scope["query_string"].decode("latin-1")))
        wanted = self._doors.token or ""
        allowed = self._limits.allow(client_of(scope), CHANGES)
        return allowed and same_text(query.get(TOKEN_PARAMETER, ""), wanted)

    async def _take_token(self, scope: Scope, send: Send) -> None:
        """Moves the token from the address into a cookie."""
        pairs = parse_qsl(scope["query_string"].decode("latin-1"))
        rest = urlencode([pair for pair in pairs if pair[0] != TOKEN_PARAMETER])
        # One slash: two would name another server.
        path = "/" + scope["path"].lstrip("/")
        place = f"{path}?{rest}" if rest else path
        cookie = f"{COOKIE}={self._doors.token}; Path=/; HttpOnly; SameSite=Strict; Max-Age=2592000"
        headers = [
            (b"location", place.encode("ascii", "replace")),
            (b"set-cookie", cookie.encode()),
            (b"content-length", b"0"),
        ]
        await send({"type": "http.response.start", "status": 303, "headers": headers})
        await send({"type": "http.response.body", "body": b""})

    # ---- how much

    async def _pass_on(
        self, scope: Scope, headers: Mapping[str, str], receive: Receive, send: Send
    ) -> None:
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BODY_BYTES:
            await answer(send, Fault(413, "too_large", too_large_text()))
            return
        await self._app(scope, BoundedBody(receive), send)

    async def _guard_socket(
        self, scope: Scope, receive: Receive, send: Send, fault: "Fault | None"
    ) -> None:
        client = client_of(scope)
        sockets, most, most_in_all = self._sockets, MAX_SOCKETS_PER_CLIENT, MAX_SOCKETS
        if scope["path"] == LEND_SOCKET:
            sockets = self._lent_sockets
            most, most_in_all = MAX_LENT_SOCKETS_PER_CLIENT, MAX_LENT_SOCKETS
        num_open = sockets.get(client, 0)
        if fault is None and (num_open >= most or sum(sockets.values()) >= most_in_all):
            fault = Fault(429, "too_many", "too many connections")
        if fault is not None:
            await receive()
            await send({"type": "websocket.close", "code": 1008, "reason": fault.code})
            return
        sockets[client] = num_open + 1
        try:
            await self._app(scope, receive, send)
        finally:
            sockets[client] -= 1
            if sockets[client] == 0:
                del sockets[client]


@dataclass(frozen=True)
class Fault:
    status: int
    code: str
    message: str


class BoundedBody:
    """Counts the bytes of a body as they come: a sender need not say its length."""

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._num_bytes = 0

    async def __call__(self) -> Message:
        message = await self._receive()
        self._num_bytes += len(message.get("body", b""))
        if self._num_bytes > MAX_BODY_BYTES:
            raise HTTPException(413, too_large_text())
        return message


class RateLimits:
    """Token buckets per client and kind of request; the oldest clients are forgotten."""

    MAX_CLIENTS = 10_000

    def __init__(self) -> None:
        self._buckets: OrderedDict[tuple[str, Rate], tuple[float, float]] = OrderedDict()

    def allow(self, client: str, rate: Rate) -> bool:
        now_s = time.monotonic()
        level, at_s = self._buckets.pop((client, rate), (rate.burst, now_s))
        level = min(rate.burst, level + (now_s - at_s) * rate.per_s)
        is_allowed = level >= 1
        self._buckets[client, rate] = (level - 1 if is_allowed else level, now_s)
        while len(self._buckets) > self.MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return is_allowed


# ---- parts


def is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_everywhere(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def split_host(host: str) -> tuple[str, str]:
    """Name and port of a Host header: [::1]:8080."""
    name, colon, port = host.rpartition(":")
    if not colon or port.endswith("]"):
        return host.lower(), ""
    return name.lower(), port


def is_same_origin(headers: Mapping[str, str], host: str, is_socket: bool) -> bool:
    """Whether a browser's page of this server asks, or a program without an Origin."""
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    if origin is None:
        return not is_socket or "sec-fetch-site" not in headers
    parts = urlsplit(origin)
    return parts.scheme in ("http", "https") and parts.netloc.lower() == host.lower()


def headers_of(scope: Scope) -> dict[str, str]:
    return {
        name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]
    }


def cookie_of(headers: Mapping[str, str]) -> str | None:
    try:
        found = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return None
    return found.value if found else None


def same_text(given: str, wanted: str) -> bool:
    """Compared in constant time."""
    return hmac.compare_digest(given.encode("utf-8", "replace"), wanted.encode())


def client_of(scope: Scope) -> str:
    client: Sequence[Any] | None = scope.get("client")
    return str(client[0]) if client else ""


def too_large_text() -> str:
    return f"a body has at most {MAX_BODY_BYTES:,} bytes"


def with_headers(send: Send) -> Send:
    """Adds the safety headers to an answer."""

    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            message = {**message, "headers": [*message.get("headers", []), *added]}
        await send(message)

    return sending


async def answer(send: Send, fault: Fault) -> None:
    body = json.dumps({"code": fault.code, "message": fault.message}).encode()
    headers = [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        (b"connection", b"close"),
    ]
    if fault.status == 429:
        headers.append((b"retry-after", b"1"))
    await send({"type": "http.response.start", "status": fault.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
