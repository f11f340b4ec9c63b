"""A gateway in a thread that a test holds by hand: real messages and pages, no run behind it.

It gives out assignments, keeps what comes, and answers as the test says: accepts, keeps silent,
closes. Tabs and the real gateway are tested in tests/browser/test_lend_run.py.
"""

import asyncio
import hashlib
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from zerofleet.games import Episode
from zerofleet.web.assets import Assets
from zerofleet.web.lend import messages
from zerofleet.web.safety import Doors, Safety

TOKEN = "t" * 32
SEED, WORKER = 2**63 + 17, 2**62 + 3


@dataclass
class Weights:
    version: int
    onnx: bytes
    check: messages.CheckRows
    evaluator: Callable[[Any], Any]
    """The same network, natively."""

    def update(self) -> messages.WeightsUpdate:
        url = f"{messages.WEIGHTS_PATH}/{self.version}.onnx"
        return messages.WeightsUpdate(
            self.version, url, hashlib.sha256(self.onnx).hexdigest(), len(self.onnx), self.check
        )


@dataclass
class SmallGateway:
    """`settings` are those of self-play; games come `count` at a time, as long as `is_giving`."""

    weights: Weights
    game: str = "connect4"
    settings: dict[str, Any] = field(default_factory=lambda: {"num_simulations": 4})
    count: int = 4
    accepts: bool = True
    is_giving: bool = True
    refusal: messages.Refused | None = None
    deadline_s: float = 600
    games: dict[tuple[int, int], bytes] = field(default_factory=dict)
    """What came, by id."""
    num_received: int = 0
    """Resends included."""
    ready: list[messages.WorkerReady] = field(default_factory=list)
    heard: list[str] = field(default_factory=list)
    num_downloads: int = 0
    num_given: int = 0

    def __post_init__(self) -> None:
        self._sockets: set[WebSocket] = set()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._server: uvicorn.Server | None = None

    # ---- what a test does

    def __enter__(self) -> Self:
        doors = Doors("127.0.0.1", self._socket.getsockname()[1])
        routes = [
            Route("/api/v1/lend", self._status),
            Route("/api/v1/lend/accounts", self._sign_up, methods=["POST"]),
            Route("/api/v1/lend/me", self._me, methods=["GET", "DELETE"]),
            Route("/lend/v1/weights/{name}", self._weights),
            WebSocketRoute(messages.SOCKET_PATH, self._talk),
            Route("/{path:path}", self._page),
        ]
        self._assets = Assets()
        app = Safety(Starlette(routes=routes), doors)
        config = uvicorn.Config(app, log_level="error", lifespan="off", ws_max_size=1 << 23)
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        return self

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        assert self._server is not None
        await self._server.serve([self._socket])

    def __exit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.should_exit = True
        self._server.force_exit = True
        self._thread.join(20)
        self._socket.close()

    def drop_all(self) -> None:
        """Closes every connection, as a proxy that restarts."""
        self._run(lambda each: each.close(1012))

    def send(self, message: messages.Message) -> None:
        self._run(lambda each: each.send_bytes(messages.encode(message)))

    def _run(self, work: Callable[[WebSocket], Any]) -> None:
        async def everywhere() -> None:
            for each in list(self._sockets):
                await work(each)

        asyncio.run_coroutine_threadsafe(everywhere(), self._loop).result(20)

    @property
    def num_connected(self) -> int:
        return len(self._sockets)

    # ---- what a tab sees

    async def _talk(self, tab: WebSocket) -> None:
        await tab.accept()
        self._sockets.add(tab)
        try:
            first = messages.decode(await tab.receive_bytes())
            assert isinstance(first, messages.WorkerReady)
            self.ready.append(first)
            if self.refusal is not None:
                await tab.send_bytes(messages.encode(self.refusal))
                await tab.close(1008)
                return
            await tab.send_bytes(messages.encode(self.weights.update()))
            await self._give(tab)
            while True:
                await self._hear(tab, messages.decode(await tab.receive_bytes()))
        except (WebSocketDisconnect, RuntimeError):
            pass
        finally:
            self._sockets.discard(tab)

    async def _hear(self, tab: WebSocket, message: messages.FromTab) -> None:
        self.heard.append(type(message).__name__)
        if not isinstance(message, messages.GamesComplete):
            return
        ids = []
        for data in message.episodes:
            episode = Episode.decode(data)
            ids.append((episode.worker, episode.sequence))
            known = self.games.setdefault(ids[-1], data)
            assert known == data, "another game with the same id"
        self.num_received += len(ids)
        if self.accepts:
            await tab.send_bytes(messages.encode(messages.GamesAccepted(ids)))
            if len(self.games) >= self.num_given * self.count:
                await self._give(tab)

    async def _give(self, tab: WebSocket) -> None:
        if not self.is_giving:
            return
        number = self.num_given
        self.num_given += 1
        assignment = messages.PlayGames(
            assignment=2**40 + number,
            game=self.game,
            options={},
            settings={**self.settings, "reuse_tree": False},
            version=self.weights.version,
            worker=WORKER,
            first_sequence=number * self.count,
            count=self.count,
            seed=SEED,
            deadline_s=self.deadline_s,
        )
        await tab.send_bytes(messages.encode(assignment))

    async def _weights(self, request: Request) -> Response:
        if request.headers.get("authorization") != f"Bearer {TOKEN}":
            return JSONResponse({"code": "token", "message": "no token"}, 401)
        self.num_downloads += 1
        return Response(self.weights.onnx)

    async def _status(self, _: Request) -> Response:
        limits = {
            "min_simulations": 2,
            "max_simulations": int(self.settings["num_simulations"]),
            "max_games_at_once": 16,
            "refresh_minutes": 10,
            "deadline_minutes": 10,
            "max_games_per_day": 1000,
        }
        lent = {
            "run": "c4",
            "game": self.game,
            "options": {},
            "signatures": {},
            "version": self.weights.version,
            "limits": limits,
            "paused": "",
        }
        consent = {"version": "1", "text": "Games are played here.\n\nThey train an agent."}
        body = {
            "is_on": True,
            "reason": "",
            "protocol": messages.PROTOCOL,
            "socket": messages.SOCKET_PATH,
            "consent": consent,
            "lent": lent,
        }
        return JSONResponse(body)

    async def _sign_up(self, request: Request) -> Response:
        name = (await request.json())["name"]
        return JSONResponse({"id": 1, "name": name, "token": TOKEN}, 201)

    async def _me(self, request: Request) -> Response:
        if request.method == "DELETE":
            return Response(status_code=204)
        account = {
            "id": 1,
            "name": "Ada",
            "state": "active",
            "reason": "",
            "created": time.time(),
            "num_games": len(self.games),
            "num_samples": 0,
            "num_simulations": 0,
            "num_unreturned": 0,
            "reliability": 1,
            "contribution": len(self.games),
            "rank": None,
            "devices": [],
        }
        return JSONResponse(account)

    async def _page(self, request: Request) -> Response:
        return self._assets.respond(request)
