"""A tab as the gateway sees it: what it was given, what waits to be sent, and why it is closed."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from starlette.websockets import WebSocket, WebSocketDisconnect, WebSocketState

from zerofleet.web.lend import messages

SILENT_S = 120.0
"""Between two messages; a tab sends HEARTBEAT every 15 seconds."""
MAX_OPEN = 2
"""Assignments of a tab: one that it plays, and the next."""
MAX_UNSENT = 64
"""Messages that may wait for a tab that does not read."""

POLICY, LATER = 1008, 1013
"""Codes of a closed WebSocket."""


class Closing(Exception):
    """The socket is closed, and the tab told why."""

    def __init__(self, code: str, message: str, status: int = POLICY) -> None:
        super().__init__(message)
        self.code, self.message, self.status = code, message, status


@dataclass(eq=False)
class Tab:
    """A connected tab."""

    socket: WebSocket
    address: str
    account: int
    device: int
    backend: str
    num_simulations: int
    games_at_once: int
    unsent: asyncio.Queue[messages.Message] = field(
        default_factory=lambda: asyncio.Queue(MAX_UNSENT)
    )
    open: dict[int, tuple[set[int], float]] = field(default_factory=dict)
    """Numbers that are not settled, and the deadline, by assignment."""
    portions: dict[str, float] = field(default_factory=dict)
    """Deadlines of rating games that it plays, on time.monotonic."""
    version: int = -1
    paused: str = ""
    closing: Closing | None = None
    is_assigning: bool = False
    silent_s: float = field(default_factory=lambda: SILENT_S)

    @property
    def has_room(self) -> bool:
        return len(self.open) + len(self.portions) < MAX_OPEN

    def put(self, message: messages.Message) -> None:
        try:
            self.unsent.put_nowait(message)
        except asyncio.QueueFull:
            self.end(Closing("slow", "this tab does not read its messages", LATER))

    def end(self, why: Closing) -> None:
        """Closes it as soon as what waits was sent."""
        if self.closing is None:
            self.closing = why
            with suppress(asyncio.QueueFull):
                self.unsent.put_nowait(messages.Refused(why.code, why.message))


async def refuse(socket: WebSocket, why: Closing) -> None:
    with suppress(WebSocketDisconnect, RuntimeError):
        if socket.client_state is WebSocketState.CONNECTED:
            await socket.send_bytes(messages.encode(messages.Refused(why.code, why.message)))
            await socket.close(why.status, why.code)
