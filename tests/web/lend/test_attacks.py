"""What a hostile sender may try with messages, sockets, tokens and accounts: refused as specified,
while an honest one lends undisturbed. test_forged_games.py has what it may send as games.

pytest -s prints the CPU time per refusal.
"""

import asyncio
import gzip
import struct
from contextlib import closing, suppress
from socket import create_connection
from typing import Any

import httpx
import msgspec
import pytest
from hostile_tab import Attack, Honest, at_work, code_of, meter, numbers, refused, stranger
from lending_client import connected, ready
from lent_run import LentServer
from redis_server import needs_redis
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from zerofleet.web import safety
from zerofleet.web.lend import accounts, gateway, messages, tab
from zerofleet.web.lend.accounts import CONSENT
from zerofleet.web.lend.messages import GamesComplete
from zerofleet.web.safety import Rate

pytestmark = needs_redis


def raw_socket(lent: LentServer, **options: Any) -> connect:
    url = lent.url.replace("http", "ws") + messages.SOCKET_PATH
    return connect(url, **({"compression": None, "max_size": None} | options))


async def said_first(lent: LentServer, data: bytes | str) -> str:
    """What becomes of bytes that come first on a socket."""
    async with raw_socket(lent) as socket:
        with suppress(ConnectionClosed):  # it may be closed before all was sent
            await socket.send(data)
        return await code_of(socket)


def says(*data: bytes | str, **changed: Any) -> Attack:
    async def attack(lent: LentServer) -> str:
        made = data[0] if data else changed_ready(lent, changed)
        meter.begin()
        return await said_first(lent, made)

    return attack


def changed_ready(lent: LentServer, changed: dict[str, Any]) -> bytes:
    good = msgspec.to_builtins(ready(stranger(lent).token, lent.game), builtin_types=(bytes,))
    return msgspec.msgpack.encode(good | changed)


async def huge_episode(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        meter.begin()
        await client.send(
            GamesComplete(task.assignment, [b"\0" * (messages.MAX_EPISODE_BYTES + 1)])
        )
        return await code_of(client)


async def too_many_episodes(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        meter.begin()
        await client.send(GamesComplete(task.assignment, [b"x"] * (messages.MAX_EPISODES + 1)))
        return await code_of(client)


async def oversized(lent: LentServer) -> str:
    return await said_first(lent, b"\0" * (messages.MAX_MESSAGE_BYTES + 1))


async def ready_twice(lent: LentServer) -> str:
    async with at_work(lent) as (client, _):
        meter.begin()
        await client.send(ready(client.lender.token, lent.game))
        return await code_of(client)


async def unknown_match(lent: LentServer) -> str:
    async with at_work(lent) as (client, _):
        meter.begin()
        await client.send(messages.EvalResult("step-1", []))
        return await code_of(client)


async def stolen_token(lent: LentServer) -> str:
    lender = stranger(lent)
    with lent.operator() as operator:
        assert operator.post(f"/accounts/{lender.id}/revoke").status_code == 200
    meter.begin()
    async with connected(lent.url, lender, lent.game) as client:
        return await code_of(client)


async def paused_account(lent: LentServer) -> str:
    """While it is connected: the socket closes at once."""
    async with at_work(lent) as (client, _):
        meter.begin()
        with lent.operator() as operator:
            operator.post(f"/accounts/{client.lender.id}/pause")
        return await code_of(client)


async def too_many_tabs(lent: LentServer) -> str:
    lender = stranger(lent)
    async with at_work(lent, lender) as (_, _):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(accounts, "MAX_TABS", 1)
            meter.begin()
            async with connected(lent.url, lender, lent.game) as second:
                return await code_of(second)


async def hoarded(lent: LentServer) -> str:
    """Assignments without end, by connecting again and again."""
    lender = stranger(lent)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "MAX_OPEN_GAMES", 20)
        for _ in range(3):
            async with connected(lent.url, lender, lent.game) as client:
                reason = ""
                while not reason and len(client.received) < 3:
                    message = await client.next(messages.Message)
                    reason = message.reason if isinstance(message, messages.Pause) else ""
        return reason


async def too_fast(lent: LentServer) -> str:
    async with at_work(lent) as (client, _):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(accounts, "MESSAGES", Rate(burst=5, per_s=0.01))
            meter.begin()
            for _ in range(20):
                await client.send(messages.Heartbeat())
            return await code_of(client)


async def half_open(lent: LentServer) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "READY_S", 0.3)
        async with raw_socket(lent) as socket:
            return await code_of(socket)


async def silent(lent: LentServer) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tab, "SILENT_S", 0.3)
        async with at_work(lent) as (client, _):
            meter.begin()
            return await code_of(client)


async def slow_sender(lent: LentServer) -> str:
    """A frame of a megabyte, a few bytes at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gateway, "READY_S", 0.5)
        return await asyncio.to_thread(trickle, lent)


def trickle(lent: LentServer) -> str:
    key = "AAAAAAAAAAAAAAAAAAAAAA=="
    with closing(create_connection(("127.0.0.1", lent.server.port), 30)) as stream:
        stream.sendall(
            f"GET {messages.SOCKET_PATH} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\n"
            "Sec-WebSocket-Version: 13\r\n\r\n".encode()
        )
        answer = stream.recv(4096)
        assert b" 101 " in answer
        stream.sendall(b"\x82\xff" + struct.pack(">Q", 1 << 20) + b"\0\0\0\0")
        try:
            while b"not_ready" not in answer:
                stream.sendall(b"\0")
                stream.settimeout(0.1)
                try:
                    if not (more := stream.recv(4096)):
                        break
                    answer += more
                except TimeoutError:
                    pass
        except OSError:
            pass
    return "not_ready" if b"not_ready" in answer else repr(answer)


async def deflate_bomb(lent: LentServer) -> str:
    """The server takes no compressed frames: a bomb is never inflated."""
    async with raw_socket(lent, compression="deflate") as socket:
        assert not socket.protocol.extensions
        transport = socket.transport
        packed = gzip.compress(b"\0" * (64 << 20))[:60_000]
        head = b"\xc2\xfe" + struct.pack(">H", len(packed)) + b"\0\0\0\0"  # RSV1: compressed
        transport.write(head + packed)
        return await code_of(socket)


async def gzip_bomb(lent: LentServer) -> str:
    """A compressed body is not inflated either."""
    packed = gzip.compress(b" " * (32 << 20))
    headers = {"content-encoding": "gzip", "content-type": "application/json"}
    async with httpx.AsyncClient(base_url=lent.url) as http:
        answer = await http.post("/api/v1/lend/accounts", content=packed, headers=headers)
        return str(answer.json()["code"])


async def refused_status(lent: LentServer, **headers: str) -> str:
    try:
        async with raw_socket(lent, additional_headers=headers):
            return "let in"
    except InvalidStatus as refused:
        return str(refused.response.status_code)


async def wrong_origin(lent: LentServer) -> str:
    return await refused_status(lent, Origin="https://evil.example")


async def wrong_host(lent: LentServer) -> str:
    async with httpx.AsyncClient(base_url=lent.url) as http:
        answer = await http.get("/api/v1/lend", headers={"host": "evil.example"})
        return str(answer.json()["code"])


async def too_many_sockets(lent: LentServer) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safety, "MAX_LENT_SOCKETS_PER_CLIENT", 1)  # the honest one's
        return await refused_status(lent)


async def sign_up_flood(lent: LentServer) -> str:
    asked = {"name": "", "consent": CONSENT.version}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "SIGN_UPS", Rate(burst=2, per_s=0.001))
        async with httpx.AsyncClient(base_url=f"{lent.url}/api/v1/lend") as http:
            for _ in range(4):
                answer = await http.post(
                    "/accounts", json=asked | {"name": f"flood {next(numbers)}"}
                )
            return str(answer.json()["code"])


async def without_consent(lent: LentServer) -> str:
    async with httpx.AsyncClient(base_url=f"{lent.url}/api/v1/lend") as http:
        answer = await http.post("/accounts", json={"name": "no consent", "consent": "old"})
        return str(answer.json()["code"])


async def guessed_tokens(lent: LentServer) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "BAD_TOKENS", Rate(burst=2, per_s=0.001))
        for _ in range(4):
            code = await said_first(
                lent, messages.encode(ready(f"guess-{next(numbers):040d}", lent.game))
            )
        return code


async def operators_door(lent: LentServer) -> str:
    async with httpx.AsyncClient(base_url=f"{lent.url}/api/v1/lend/operator") as http:
        answer = await http.post("/accounts/1/resume")
        return str(answer.json()["code"])


async def refused_often(lent: LentServer) -> str:
    """Rubbish without end: the socket is closed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(accounts, "REFUSALS", Rate(burst=3, per_s=0.001))
        async with at_work(lent) as (client, task):
            meter.begin()
            for _ in range(5):
                await client.send(GamesComplete(task.assignment, [b"rubbish"]))
            codes = [await code_of(client) for _ in range(5)]
            return codes[-1] if set(codes[:3]) == {"unreadable"} else str(codes)


DEEP = b"\x91" * 100_000 + b"\xc0"
ATTACKS: list[tuple[str, Attack, str]] = [
    ("no MessagePack", says(b"\xc1"), "bad_message"),
    ("text instead of bytes", says("{}"), "bad_message"),
    ("nested 100,000 deep", says(DEEP), "bad_message"),
    ("a map of four thousand million", says(b"\xdf\xff\xff\xff\xff"), "bad_message"),
    ("an unknown type", says(type="ADMIN"), "bad_message"),
    ("an unknown field", says(admin=True), "bad_message"),
    ("a number as text", says(protocol="1"), "bad_message"),
    ("an oversized message", oversized, "1009"),
    ("an oversized episode", huge_episode, "bad_message"),
    ("too many episodes", too_many_episodes, "bad_message"),
    ("games before WORKER_READY", says(messages.encode(messages.Heartbeat())), "not_ready"),
    ("WORKER_READY twice", ready_twice, "not_ready"),
    ("another protocol", says(protocol=messages.PROTOCOL + 1), "protocol"),
    ("another signature", says(signatures={"connect4": "0" * 16}), "signature"),
    ("no signature", says(signatures={}), "signature"),
    ("a wrong token", says(token="x" * 43), "wrong_token"),
    ("guessed tokens", guessed_tokens, "too_often"),
    ("the token of a revoked user", stolen_token, "revoked"),
    ("the token of a paused user", paused_account, "paused"),
    ("rubbish without end", refused_often, "refused"),
    ("a match that was not given", unknown_match, "no_match"),
    ("too many tabs", too_many_tabs, "too_many"),
    ("too many sockets of an address", too_many_sockets, "403"),
    ("hoarded assignments", hoarded, "this account has too many open games; finish some first"),
    ("too many messages", too_fast, "too_often"),
    ("a half-open socket", half_open, "not_ready"),
    ("silence", silent, "silent"),
    ("a slow sender", slow_sender, "not_ready"),
    ("a compressed frame", deflate_bomb, "1002"),
    ("a compressed body", gzip_bomb, "refused"),
    ("a foreign Origin", wrong_origin, "403"),
    ("a foreign Host", wrong_host, "wrong_host"),
    ("a flood of accounts", sign_up_flood, "too_often"),
    ("no consent", without_consent, "consent"),
    ("the operator's actions", operators_door, "no_token"),
]


@pytest.mark.parametrize(("name", "attack", "code"), ATTACKS, ids=[each[0] for each in ATTACKS])
def test_an_attack_is_refused(
    lent: LentServer, honest: Honest, name: str, attack: Attack, code: str
) -> None:
    assert refused(lent, honest, name, attack) == code


def test_the_honest_lender_was_not_disturbed(honest: Honest) -> None:
    honest.assert_undisturbed()
