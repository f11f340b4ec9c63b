"""The server: uvicorn in the foreground for `zerofleet dash`, or in a thread beside training."""

import asyncio
import errno
import logging
import os
import socket
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import uvicorn

from zerofleet.errors import BadText, Inconsistent
from zerofleet.web.app import make_app
from zerofleet.web.lend.lending import Lending
from zerofleet.web.lend.messages import MAX_MESSAGE_BYTES as MAX_LENT_BYTES
from zerofleet.web.live import Live
from zerofleet.web.safety import MAX_LENT_SOCKETS, MAX_MESSAGE_BYTES, Doors, is_everywhere
from zerofleet.web.services import Services

PORT = 8080
LOOPBACK = "127.0.0.1"
MAX_TRIES = 20
"""Ports that are tried, from the wanted one on."""
TOKEN, TOKEN_FILE = "ZEROFLEET_DASH_TOKEN", "ZEROFLEET_DASH_TOKEN_FILE"
MIN_TOKEN = 16
"""Characters."""
MAX_CONNECTIONS = 1024
START_S = 20.0
"""How long training waits for the server at most."""


class DrainingServer(uvicorn.Server):
    """Lets lending say goodbye while sockets are still open."""

    def __init__(self, config: uvicorn.Config, lending: Lending | None) -> None:
        super().__init__(config)
        self._lending = lending

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._lending is not None:
            await asyncio.to_thread(self._lending.end)
        await super().shutdown(sockets)


class Server:
    """A server that listens as soon as it is made; `run` or `start` serves."""

    def __init__(
        self,
        host: str = LOOPBACK,
        port: int = PORT,
        run: str | None = None,
        custom_games: Sequence[str] = (),
        any_port: bool = True,
        lending: Lending | None = None,
        public_url: str = "",
    ) -> None:
        """With `lending` browsers may play for its run. `public_url` is where a proxy on this
        machine serves it: https://lend.example.org."""
        public_host = host_of(public_url)
        self.wanted_port = port
        token = given_token()
        self.services = Services(custom_games, lending)
        self._socket = listen(host, port, MAX_TRIES if any_port and port else 1)
        self.port: int = self._socket.getsockname()[1]
        self.doors = Doors.on(host, self.port, token, lending is not None, public_host)
        self.live = Live(self.services)
        self._run = run
        config = uvicorn.Config(
            make_app(self.services, self.live, self.doors, run),
            log_level=logging.WARNING,
            access_log=False,
            lifespan="off",
            server_header=False,
            date_header=False,
            ws="websockets-sansio",
            ws_max_size=MAX_LENT_BYTES if lending else MAX_MESSAGE_BYTES,
            ws_per_message_deflate=False,  # it would compress once for each page
            ws_ping_interval=20.0,
            ws_ping_timeout=20.0,
            h11_max_incomplete_event_size=32 << 10,
            timeout_keep_alive=30,
            timeout_graceful_shutdown=1,
            limit_concurrency=MAX_CONNECTIONS + (MAX_LENT_SOCKETS if lending else 0),
            # A client is who the proxy says it is; without a proxy nobody is believed.
            proxy_headers=bool(public_host),
            forwarded_allow_ips=LOOPBACK,
        )
        self._uvicorn = DrainingServer(config, lending)
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where a browser finds it, without the token."""
        name = socket.gethostname() if is_everywhere(self.doors.host) else self.doors.host
        shown = f"[{name}]" if ":" in name else name
        return f"http://{shown}:{self.port}/{f'runs/{self._run}' if self._run else ''}"

    def lines(self) -> list[str]:
        """What a person must know: where it is, and the token, which is shown here only."""
        lines = [f"dashboard: {self.url}"]
        if self.port != self.wanted_port and self.wanted_port:
            lines[0] += f" (port {self.wanted_port} is taken)"
        if self.doors.token is not None:
            if given_token() is None:
                lines.append(f"open it once with its token: {self.url}?token={self.doors.token}")
            else:
                lines.append(f"open it once with the token of {TOKEN}: {self.url}?token=…")
        return lines

    def run(self) -> None:
        """Serves until Ctrl-C or SIGTERM."""
        self._start_lending()
        try:
            self._uvicorn.run(sockets=[self._socket])
        except KeyboardInterrupt:
            pass
        finally:
            self.services.close()
            self._socket.close()

    def start(self) -> None:
        """Serves in a thread, until `stop` or until the process ends."""
        self._start_lending()
        self._thread = threading.Thread(target=self._serve, name="dashboard", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        self._uvicorn.should_exit = True
        if self._thread is not None:
            self._thread.join(START_S)
        self.services.close()
        self._socket.close()

    def _start_lending(self) -> None:
        if self.services.lending is not None:
            self.services.lending.start()

    def _serve(self) -> None:
        asyncio.run(self._uvicorn.serve([self._socket]))


def listen(host: str, port: int, num_tries: int) -> socket.socket:
    """A socket at this port, or at the next free one of so many."""
    last = min(port + num_tries, 65536)
    for each in range(port, last):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        found = socket.socket(family, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind((host, each))
            found.listen(128)
            return found
        except OSError as error:
            found.close()
            if error.errno != errno.EADDRINUSE:
                what = error.strerror or str(error)
                raise BadText(f"cannot listen at {host}:{each}: {what}") from None
    tried = f"port {port} is" if num_tries == 1 else f"ports {port} to {last - 1} are"
    raise Inconsistent(f"{tried} taken at {host}; name another by --port")


def host_of(public_url: str) -> str:
    """The Host header of requests for a public address; empty for an empty address."""
    parts = urlsplit(public_url)
    if public_url and (
        parts.scheme not in ("http", "https") or not parts.netloc or parts.path.strip("/")
    ):
        raise BadText(f"--public-url {public_url}: must be like https://lend.example.org")
    return parts.netloc


def given_token() -> str | None:
    """The token of the environment; never of the command line, where every user could read it."""
    text = os.environ.get(TOKEN, "")
    if not text and (path := os.environ.get(TOKEN_FILE)):
        try:
            text = Path(path).read_text().strip()
        except (OSError, UnicodeDecodeError) as error:
            raise BadText(f"{TOKEN_FILE}: {path} cannot be read: {error}") from None
    if not text:
        return None
    if (
        len(text) < MIN_TOKEN
        or not text.isascii()
        or not text.replace("-", "").replace("_", "").isalnum()
    ):
        raise BadText(
            f"{TOKEN} must have at least {MIN_TOKEN} characters, of letters, digits, - and _"
        )
    return text


def serve_beside_training(
    run: str, custom_games: Sequence[str], say: Callable[[str], None]
) -> Server | None:
    """Serves a run while it trains; whatever goes wrong is said and does not stop training."""
    try:
        server = Server(run=run, custom_games=custom_games)
        server.start()
    except Exception as error:
        say(f"no dashboard: {error}")
        return None
    for line in server.lines():
        say(line)
    return server
