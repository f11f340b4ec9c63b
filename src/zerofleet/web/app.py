"""The whole application: API, live updates and pages behind the doors."""

from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp
from starlette.websockets import WebSocket

from zerofleet.web.api import PREFIX, make_api
from zerofleet.web.assets import Assets
from zerofleet.web.kept_answers import KeptAnswers
from zerofleet.web.live import Live
from zerofleet.web.safety import Doors, Safety
from zerofleet.web.services import Services


def make_app(services: Services, live: Live, doors: Doors, run: str | None = None) -> ASGIApp:
    """The application as a server runs it. `run` is where /dashboard and / lead; None: the list."""
    app = make_api(services)
    assets = Assets()
    home = f"/runs/{run}" if run else "/runs"

    async def connect(socket: WebSocket) -> None:
        await live.connect(socket)

    async def go_home(_: Request) -> Response:
        return RedirectResponse(home, 307)

    async def page(request: Request) -> Response:
        return assets.respond(request)

    app.add_api_websocket_route(f"{PREFIX}/live", connect)
    for path in ("/", "/dashboard"):
        app.add_route(path, go_home, methods=["GET"], include_in_schema=False)
    app.add_route("/{path:path}", page, methods=["GET"], include_in_schema=False)
    return Safety(KeptAnswers(app), doors)
