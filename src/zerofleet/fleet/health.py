"""The health port of a role: /healthz, /metrics and, with a registry, /sd.

    with HealthServer("worker", worker_id, run_name, read_values) as health:
        entry = RoleEntry(..., address=health.address)
        while not bus.stopping:
            health.beat("playing")
            ...

/healthz answers 200, or 503 once the role's loop has not called `beat` for its timeout; in both
cases with a short JSON of what the role does. /metrics is for Prometheus, and /sd is the list of
roles for its HTTP service discovery.

A thread serves all connections. Requests are bounded in size, number and time, and when there are
too many connections the oldest is closed, so that strangers can neither stop the role nor lock
Prometheus out for long. Answers contain no secrets; still, the port is on loopback by default.
"""

import asyncio
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from types import TracebackType
from typing import Self

from zerofleet.bus import BusUnreachable, RoleEntry
from zerofleet.errors import Unsupported
from zerofleet.fleet.role_metrics import (
    Labelled,
    Values,
    discovered_targets,
    metrics_text,
    registry_values,
)

LOOPBACK = "127.0.0.1"
WILDCARDS = ("", "0.0.0.0", "::")
SILENCE_TIMEOUT_S = 300.0
"""Compiling for a GPU takes minutes."""
MAX_REQUEST_BYTES = 8192
MAX_CONNECTIONS = 32
REQUEST_TIMEOUT_S = 5.0
"""From connecting to the last byte of the answer."""

TEXT = "text/plain; charset=utf-8"
METRICS_TEXT = "text/plain; version=0.0.4; charset=utf-8"
JSON = "application/json"

Answer = tuple[HTTPStatus, str, bytes]
"""Status, content type and body."""


class HealthServer:
    """Serves the health of one role until it is closed. All methods may be called from any thread.

    `read_values` returns the role's metrics, by the names that role_metrics declares. It runs in a
    thread of its own and must not wait for the network. `read_roles` lists the registry; a role
    that has it also serves /sd and the registry's metrics.
    """

    def __init__(
        self,
        kind: str,
        role_id: str,
        run: str,
        read_values: Callable[[], Values],
        read_roles: Callable[[], Sequence[RoleEntry]] | None = None,
        host: str = LOOPBACK,
        port: int = 0,
        timeout_s: float = SILENCE_TIMEOUT_S,
    ) -> None:
        """Opens the port; 0 is a free one. The loop is stuck after `timeout_s` without a beat."""
        self._facts = {"role": kind, "id": role_id, "run": run}
        self._read_values = read_values
        self._read_roles = read_roles
        self._timeout_s = timeout_s
        self._doing = "starting"
        self._beaten_s = time.monotonic()
        self._num_bad = 0
        self._socket = _listening_socket(host, port)
        reachable = socket.gethostname() if host in WILDCARDS else host
        name = f"[{reachable}]" if ":" in reachable else reachable
        self.address = f"{name}:{self._socket.getsockname()[1]}"
        """Where others reach it, as host:port."""
        self._pages: dict[str, Callable[[], Answer]] = {"/metrics": self._metrics}
        if read_roles is not None:
            self._pages["/sd"] = self._discovery
        self._readers = ThreadPoolExecutor(1, "health-read")
        self._connections: dict[asyncio.Task[None], None] = {}
        self._loop = asyncio.new_event_loop()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="health", daemon=True)
        self._thread.start()

    def beat(self, doing: str) -> None:
        """Tells that the role's loop makes progress, and what it does or waits for."""
        self._doing = doing
        self._beaten_s = time.monotonic()

    @property
    def silent_s(self) -> float:
        """Since the last beat."""
        return time.monotonic() - self._beaten_s

    @property
    def is_healthy(self) -> bool:
        return self.silent_s <= self._timeout_s

    def close(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._closing.set)
            self._thread.join()
        self._readers.shutdown(wait=False, cancel_futures=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self.close()

    # ---- pages

    def _healthz(self) -> Answer:
        silent_s = self.silent_s
        healthy = silent_s <= self._timeout_s
        facts = self._facts | {
            "status": "ok" if healthy else f"no progress for {silent_s:.0f} s",
            "doing": self._doing,
            "silent_s": round(silent_s, 1),
        }
        status = HTTPStatus.OK if healthy else HTTPStatus.SERVICE_UNAVAILABLE
        return status, JSON, json.dumps(facts).encode() + b"\n"

    def _metrics(self) -> Answer:
        values: dict[str, float | Labelled | None] = {
            "healthy": float(self.is_healthy),
            "silent_s": self.silent_s,
            "bad_requests": self._num_bad,
            **self._read_values(),
        }
        if self._read_roles is not None:
            with suppress(BusUnreachable):  # of which the role's own values tell
                values |= registry_values(self._read_roles())
        return HTTPStatus.OK, METRICS_TEXT, metrics_text(values)

    def _discovery(self) -> Answer:
        assert self._read_roles is not None
        try:
            roles = self._read_roles()
        except BusUnreachable as fault:  # Prometheus keeps the list that it has
            return HTTPStatus.SERVICE_UNAVAILABLE, TEXT, f"{fault}\n".encode()
        targets = discovered_targets(roles, self._facts["run"], socket.gethostname())
        return HTTPStatus.OK, JSON, json.dumps(targets).encode() + b"\n"

    # ---- connections, all in the server's thread

    def _run(self) -> None:
        try:
            self._loop.run_until_complete(self._serve())
        finally:
            self._loop.close()

    async def _serve(self) -> None:
        server = await asyncio.start_server(
            self._connected, sock=self._socket, limit=MAX_REQUEST_BYTES
        )
        await self._closing.wait()
        server.close()
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        if len(self._connections) >= MAX_CONNECTIONS:
            oldest = next(iter(self._connections))
            del self._connections[oldest]
            oldest.cancel()
        self._connections[task] = None
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT_S):
                status, content_type, body = await self._answer(reader)
                self._num_bad += status != HTTPStatus.OK
                writer.write(_head(status, content_type, len(body)) + body)
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (TimeoutError, ConnectionError, asyncio.CancelledError):
            self._num_bad += 1
        finally:
            self._connections.pop(task, None)
            writer.transport.abort()

    async def _answer(self, reader: asyncio.StreamReader) -> Answer:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
        except asyncio.LimitOverrunError:
            status = HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
            return status, TEXT, f"a request has at most {MAX_REQUEST_BYTES} bytes\n".encode()
        except asyncio.IncompleteReadError:
            return HTTPStatus.BAD_REQUEST, TEXT, b"the request is incomplete\n"
        method, _, rest = head.partition(b"\r\n")[0].partition(b" ")
        path, _, protocol = rest.partition(b" ")
        if not protocol.startswith(b"HTTP/1."):
            return HTTPStatus.BAD_REQUEST, TEXT, b"this port speaks HTTP/1.1\n"
        if method != b"GET":
            return HTTPStatus.METHOD_NOT_ALLOWED, TEXT, b"only GET is allowed\n"
        name = path.partition(b"?")[0].decode("latin-1")
        if name == "/healthz":
            return self._healthz()
        if (page := self._pages.get(name)) is None:
            known = ", ".join(["/healthz", *self._pages])
            return HTTPStatus.NOT_FOUND, TEXT, f"there is {known}\n".encode()
        try:
            return await self._loop.run_in_executor(self._readers, page)
        except Exception as error:  # whatever a role's values raise, the port keeps serving
            return HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, f"{name}: {error}\n".encode()


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, OverflowError) as error:
        raise Unsupported(
            f"the health port {port} on {host} cannot be opened: {error}; choose another, or 0 for "
            "a free one"
        ) from None


def _head(status: HTTPStatus, content_type: str, size_bytes: int) -> bytes:
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        f"Content-Type: {content_type}",
        f"Content-Length: {size_bytes}",
        "Connection: close",
        "X-Content-Type-Options: nosniff",
    ]
    if status == HTTPStatus.METHOD_NOT_ALLOWED:
        lines.append("Allow: GET")
    return ("\r\n".join(lines) + "\r\n\r\n").encode()
