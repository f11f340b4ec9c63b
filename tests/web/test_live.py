"""Live news over the WebSocket of a page."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from zerofleet.web.server import Server


@pytest.fixture
def metrics(runs: Path) -> Iterator[Path]:
    """The metrics file of a run, as it was afterwards."""
    path = runs / "ttt" / "metrics.jsonl"
    before = path.read_bytes()
    yield path
    path.write_bytes(before)


def address(server: Server, run: str) -> str:
    return f"ws://127.0.0.1:{server.port}/api/v1/live?run={run}"


async def next_of(socket: ClientConnection, kind: str) -> Any:
    """The data of the next message of a kind."""
    async with asyncio.timeout(20):
        while True:
            message = json.loads(await socket.recv())
            if message["type"] == kind:
                return message["data"]


def append(path: Path, **values: object) -> None:
    record = {"time": time.time(), **values}
    with path.open("a") as file:
        file.write(json.dumps(record) + "\n")


def test_a_page_gets_new_records_ratings_and_events(
    server: Server, api: httpx.Client, metrics: Path
) -> None:
    async def listen() -> tuple[Any, Any, Any]:
        origin = {"Origin": f"http://127.0.0.1:{server.port}"}
        async with connect(address(server, "ttt"), additional_headers=origin) as socket:
            hello = await next_of(socket, "hello")
            assert hello["run"] == "ttt"
            first = await next_of(socket, "status")
            assert first["new_records"] == []
            append(metrics, kind="train", step=10_000, loss=1.5)
            match = {"opponent": "random", "games": 4, "score": 1.0, "low": 0.5, "high": 1.0}
            append(metrics, kind="rating", step=10_000, points=1.0, pairs=[0, 0, 0, 0, 2], **match)
            status = await next_of(socket, "status")
            rating = await next_of(socket, "rating")
            return status, rating, await next_of(socket, "event")

    status, rating, event = asyncio.run(listen())
    (new,) = (each for each in status["new_records"] if each["table"]["kind"] == "train")
    columns = new["table"]["columns"]
    assert (columns["step"][-1], columns["loss"][-1]) == (10_000, 1.5)
    assert all(step > new["after_step"] for step in columns["step"])
    assert rating["step"] == 10_000
    assert event["kind"] == "rating"


def test_an_unknown_run_is_refused_in_words(server: Server, api: httpx.Client) -> None:
    async def listen() -> ConnectionClosed:
        async with connect(address(server, "nope")) as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
            return closed.value

    fault = asyncio.run(listen())
    assert fault.rcvd is not None
    assert fault.rcvd.code == 1008
    assert fault.rcvd.reason.startswith("unknown run nope")


def test_a_page_that_leaves_is_forgotten(server: Server, api: httpx.Client) -> None:
    async def come_and_go() -> None:
        async with connect(address(server, "bar")) as socket:
            await next_of(socket, "hello")

    for _ in range(3):
        asyncio.run(come_and_go())
    num_before = len(asyncio.run(pages_of(server)))
    assert num_before == 0


async def pages_of(server: Server) -> list[str]:
    """Runs that the server still watches, after a moment to notice who left."""
    async with asyncio.timeout(10):
        while server.live.watched:
            await asyncio.sleep(0.05)
    return server.live.watched


def test_a_long_message_ends_the_connection(server: Server, api: httpx.Client) -> None:
    async def shout() -> None:
        async with connect(address(server, "ttt")) as socket:
            await socket.send("x" * 100_000)
            await asyncio.wait_for(socket.wait_closed(), 10)

    asyncio.run(shout())
