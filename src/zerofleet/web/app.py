"""The whole application: API, live updates and pages behind the doors."""

from collections.abc import AsyncIterator

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response, StreamingResponse
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from zerofleet.web.api import PREFIX, make_api
from zerofleet.web.assets import Assets
from zerofleet.web.kept_answers import KeptAnswers
from zerofleet.web.lend.accounts import token_in
from zerofleet.web.lend.lending import Lending
from zerofleet.web.lend.messages import SOCKET_PATH, WEIGHTS_PATH
from zerofleet.web.live import Live
from zerofleet.web.safety import COOKIE, Doors, Safety
from zerofleet.web.services import Services

PIECE_BYTES = 64 << 10
"""Of weights, sent at a time."""


def make_app(services: Services, live: Live, doors: Doors, run: str | None = None) -> ASGIApp:
    """The application as a server runs it. `run` is where /dashboard and / lead; None: the list."""
    app = make_api(services)
    assets = Assets()
    home = f"/runs/{run}" if run else "/runs"

    async def connect(socket: WebSocket) -> None:
        await live.connect(socket)

    async def go_home(request: Request) -> Response:
        is_guest = doors.lends and COOKIE not in request.cookies
        return RedirectResponse("/lend" if is_guest else home, 307)

    async def page(request: Request) -> Response:
        return assets.respond(request)

    app.add_api_websocket_route(f"{PREFIX}/live", connect)
    if services.lending is not None:
        add_lending(app, services, services.lending)
    for path in ("/", "/dashboard"):
        app.add_route(path, go_home, methods=["GET"], include_in_schema=False)
    app.add_route("/{path:path}", page, methods=["GET"], include_in_schema=False)
    return Safety(KeptAnswers(app), doors)


def add_lending(app: FastAPI, services: Services, lending: Lending) -> None:
    """The socket of browsers that lend, and the weights that they fetch."""

    async def connect(socket: WebSocket) -> None:
        await lending.connect(socket)

    async def weights(request: Request) -> Response:
        token = token_in(request.headers.get("authorization"))
        version = int(request.path_params["version"])
        found = await services.in_thread(lending.weights, token, version)
        headers = {
            "cache-control": "private, max-age=31536000, immutable",
            "etag": found.sha256,
            "content-length": str(len(found.onnx)),
        }
        return StreamingResponse(pieces(found.onnx), 200, headers, "application/octet-stream")

    app.add_api_websocket_route(SOCKET_PATH, connect)
    path = f"{WEIGHTS_PATH}/{{version:int}}.onnx"
    app.add_route(path, weights, methods=["GET"], include_in_schema=False)


async def pieces(data: bytes) -> AsyncIterator[memoryview]:
    """A large file for a client that may read slowly: the server waits after each piece until the
    client has taken it. Sent whole, every download would hold a copy of its own, and all tabs
    fetch new weights at once."""
    for first in range(0, len(data), PIECE_BYTES):
        yield memoryview(data)[first : first + PIECE_BYTES]
