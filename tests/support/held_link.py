"""A link to a port of this machine that can fall silent, or break.

with HeldLink(port) as link:
    page.goto(link.url)
    link.hold()       # nothing passes, as where a phone has no signal
    link.cut()        # every connection breaks, and none can be made
    link.release()
"""

import asyncio
import threading
from typing import Self

CHUNK_BYTES = 1 << 16


class HeldLink:
    """A relay of its own thread."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._passes = asyncio.Event()
        self._is_cut = False
        self._writers: set[asyncio.StreamWriter] = set()
        self._ways: set[asyncio.Task[None]] = set()

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(self._listen(), self._loop).result(10)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    def hold(self) -> None:
        self._call(self._passes.clear)

    def cut(self) -> None:
        def cut() -> None:
            self._is_cut = True
            for writer in self._writers:
                writer.transport.abort()

        self._call(cut)

    def release(self) -> None:
        def release() -> None:
            self._is_cut = False
            self._passes.set()

        self._call(release)

    def _call(self, work: "object") -> None:
        async def run() -> None:
            work()  # type: ignore[operator]

        asyncio.run_coroutine_threadsafe(run(), self._loop).result(10)

    async def _listen(self) -> asyncio.Server:
        self._passes.set()
        return await asyncio.start_server(self._connected, "127.0.0.1", 0)

    def _close(self) -> None:
        self._server.close()
        for way in self._ways:
            way.cancel()
        for writer in self._writers:
            writer.transport.abort()

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._is_cut:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self._target)
        self._writers |= {writer, back}
        ways = {
            self._loop.create_task(self._pass(*each)) for each in ((reader, back), (there, writer))
        }
        self._ways |= ways
        await asyncio.wait(ways)
        self._ways -= ways
        self._writers -= {writer, back}

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while data := await reader.read(CHUNK_BYTES):
                await self._passes.wait()
                writer.write(data)
                await writer.drain()
        except OSError:
            writer.transport.abort()
        else:
            writer.close()
