"""Answers that many pages ask for at once are computed once."""

import asyncio
import gzip
import time
from typing import Any

import pytest
from starlette.types import Message, Receive, Scope, Send

from zerofleet.web import kept_answers
from zerofleet.web.kept_answers import MAX_KEPT, KeptAnswers


class Counting:
    """An application that answers with how often it was asked."""

    def __init__(self) -> None:
        self.num_asked = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.num_asked += 1
        await asyncio.sleep(0.01)
        body = f"{scope['path']} {self.num_asked} ".encode() * 500
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})


async def ask(app: Any, path: str, encoding: bytes = b"", method: str = "GET") -> bytes:
    sent: list[Message] = []

    async def send(message: Message) -> None:
        sent.append(message)

    async def receive() -> Message:
        return {"type": "http.request"}

    headers = [(b"accept-encoding", encoding)]
    scope = {"type": "http", "method": method, "path": path, "query_string": b""}
    await app({**scope, "headers": headers}, receive, send)
    body: bytes = sent[1]["body"]
    assert dict(sent[0]["headers"]).get(b"content-length", str(len(body)).encode()).isdigit()
    return gzip.decompress(body) if encoding and body[:2] == b"\x1f\x8b" else body


def test_requests_at_one_time_share_one_answer_compressed_or_not() -> None:
    async def ask_often() -> set[bytes]:
        asked = [ask(app, "/api/v1/runs/a", each) for each in (b"", b"gzip, br") * 20]
        return set(await asyncio.gather(*asked))

    counting = Counting()
    app = KeptAnswers(counting)
    assert len(asyncio.run(ask_often())) == 1
    assert counting.num_asked == 1


def test_an_answer_is_computed_again_after_a_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept_answers, "KEPT_S", 0.05)
    counting = Counting()
    app = KeptAnswers(counting)
    first = asyncio.run(ask(app, "/api/v1/runs"))
    time.sleep(0.06)
    assert asyncio.run(ask(app, "/api/v1/runs")) != first


def test_plays_and_changes_are_never_kept() -> None:
    async def ask_twice(path: str, method: str) -> None:
        await ask(app, path, method=method)
        await ask(app, path, method=method)

    for path, method in (
        ("/api/v1/plays/x", "GET"),
        ("/api/v1/runs/a/analysis", "POST"),
    ):
        counting = Counting()
        app = KeptAnswers(counting)
        asyncio.run(ask_twice(path, method))
        assert counting.num_asked == 2


def test_what_is_kept_is_bounded() -> None:
    async def ask_for_many() -> None:
        for number in range(MAX_KEPT + 20):
            await ask(app, f"/api/v1/runs/{number}")

    app = KeptAnswers(Counting())
    asyncio.run(ask_for_many())
    assert len(app._kept) == MAX_KEPT
