"""Everything a hostile sender may try: refused as specified, while an honest one lends undisturbed.

Each attack is a coroutine that returns the code with which it was refused. pytest -s prints the CPU
time of the server's threads per refusal: from the hostile message on, or with the connection where
that is hostile; the least of $ZEROFLEET_ATTACKS attempts.
"""

import asyncio
import gzip
import os
import struct
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, closing, nullcontext, suppress
from pathlib import Path
from socket import create_connection
from typing import Any

import httpx
import msgspec
import numpy as np
import pytest
from episode_bytes import rehashed
from lending_client import Client, Lender, connected, ready, sign_up
from lent_run import LentServer, lent_server
from redis_server import RedisServer, needs_redis
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from zerofleet import games
from zerofleet.games import Episode
from zerofleet.web import safety
from zerofleet.web.lend import accounts, gateway, messages
from zerofleet.web.lend.accounts import CONSENT
from zerofleet.web.lend.messages import GamesAccepted, GamesComplete, PlayGames
from zerofleet.web.safety import Rate

pytestmark = needs_redis

numbers = iter(range(10**9))


class Honest:
    """Somebody who lends all the while."""

    def __init__(self, lent: LentServer) -> None:
        self.lender = sign_up(lent.url, "honest")
        self.num_accepted = 0
        self.fault: BaseException | None = None
        self.resting = threading.Lock()
        """Whoever holds it measures: this one does nothing."""
        self._lent = lent
        self._ended = False
        self._thread = threading.Thread(target=lambda: asyncio.run(self._lend()))
        self._thread.start()

    async def _lend(self) -> None:
        try:
            async with connected(self._lent.url, self.lender, self._lent.game) as client:
                while not self._ended:
                    with self.resting:
                        self.num_accepted += await client.lend(1)
                    await asyncio.sleep(0.2)
                return
            raise AssertionError(f"its socket was closed after {client.received[-1]}")
        except BaseException as fault:
            self.fault = fault

    def end(self) -> None:
        self._ended = True
        self._thread.join()


@pytest.fixture(scope="module")
def honest(lent: LentServer) -> Iterator[Honest]:
    found = Honest(lent)
    yield found
    found.end()


def server_cpu_s() -> float:
    """CPU time of the server's threads, which are in this process."""
    total = 0
    for thread in threading.enumerate():
        if thread.name.startswith(("dashboard", "lend", "web")) and thread.native_id:
            path = Path(f"/proc/self/task/{thread.native_id}/schedstat")
            total += int(path.read_text().split()[0])
    return total / 1e9


class Meter:
    """CPU of the server since an attack began; one that needs a good start begins after it."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._began_s = server_cpu_s()

    def spent_s(self) -> float:
        return server_cpu_s() - self._began_s


meter = Meter()


# ---- parts of attacks


def stranger(lent: LentServer) -> Lender:
    return sign_up(lent.url, f"mallory {next(numbers)}")


def raw_socket(lent: LentServer, **options: Any) -> connect:
    url = lent.url.replace("http", "ws") + messages.SOCKET_PATH
    return connect(url, **({"compression": None, "max_size": None} | options))


async def code_of(client_or_socket: Any) -> str:
    """The code of what refuses it: a game, else the socket."""
    socket = getattr(client_or_socket, "socket", client_or_socket)
    try:
        while True:
            data = await asyncio.wait_for(socket.recv(), 30)
            message = messages.decode_answer(data)
            if isinstance(message, messages.GamesRefused | messages.Refused):
                return message.code
    except ConnectionClosed as closed:
        return str(closed.rcvd.code if closed.rcvd else 1006)


async def said_first(lent: LentServer, data: bytes | str) -> str:
    """What becomes of bytes that come first on a socket."""
    async with raw_socket(lent) as socket:
        with suppress(ConnectionClosed):  # it may be closed before all was sent
            await socket.send(data)
        return await code_of(socket)


@asynccontextmanager
async def at_work(lent: LentServer, lender: Lender | None = None) -> Any:
    """A sender with its first assignment."""
    async with connected(lent.url, lender or stranger(lent), lent.game) as client:
        yield client, await client.next(PlayGames)


def sends(forge: Callable[[Client, PlayGames], Awaitable[list[bytes]]], **fields: Any) -> Any:
    """An attack that sends what is made of an assignment."""

    async def attack(lent: LentServer) -> str:
        async with at_work(lent) as (client, task):
            played = await forge(client, task)
            meter.begin()
            await client.send(
                GamesComplete(**({"assignment": task.assignment, "episodes": played} | fields))
            )
            return await code_of(client)

    return attack


def says(*data: bytes | str, **changed: Any) -> Any:
    async def attack(lent: LentServer) -> str:
        made = data[0] if data else changed_ready(lent, changed)
        meter.begin()
        return await said_first(lent, made)

    return attack


def changed_ready(lent: LentServer, changed: dict[str, Any]) -> bytes:
    good = msgspec.to_builtins(ready(stranger(lent).token, lent.game), builtin_types=(bytes,))
    return msgspec.msgpack.encode(good | changed)


def changed_last(data: bytes, change: Callable[[bytearray], object]) -> bytes:
    body = bytearray(data[:-8])
    change(body)
    return rehashed(bytes(body))


def flip_result(body: bytearray) -> None:
    body[-1] = 1 if body[-1] == 3 else 3


# ---- attacks


async def unreadable(client: Client, task: PlayGames) -> list[bytes]:
    return [b"ZFE\x01 and nothing that follows"]


async def cut(client: Client, task: PlayGames) -> list[bytes]:
    return [(await client.play(task))[0][:-20]]


async def bit_flipped(client: Client, task: PlayGames) -> list[bytes]:
    data = bytearray((await client.play(task))[0])
    data[len(data) // 2] ^= 4
    return [bytes(data)]


async def flipped_result(client: Client, task: PlayGames) -> list[bytes]:
    return [changed_last((await client.play(task))[0], flip_result)]


async def illegal(client: Client, task: PlayGames) -> list[bytes]:
    """A game that ends before its end."""
    episode = Episode.record(games.get("connect4"), 0, [3, 3, 3, 3, 3, 3, 2, 2, 1, 1, 0])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def without_search(client: Client, task: PlayGames) -> list[bytes]:
    """A legal game that nobody searched."""
    episode = Episode.record(games.get("connect4"), 0, [0, 1, 0, 1, 0, 1, 0])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def other_version(client: Client, task: PlayGames) -> list[bytes]:
    evaluate = client.evaluators[task.version]
    client.evaluators[task.version + 1] = evaluate
    return await client.play(msgspec.structs.replace(task, version=task.version + 1))


async def other_number(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, first_sequence=10**6))


async def other_worker(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, worker=task.worker ^ 1))


async def other_game(client: Client, task: PlayGames) -> list[bytes]:
    episode = Episode.record(games.get("tictactoe"), 0, [0, 3, 1, 4, 2])
    return [episode.with_id(task.worker, task.first_sequence).encode()]


async def more_simulations(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, num_simulations=100)


async def few_simulations(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, num_simulations=1)


async def other_search(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(task, gumbel_c_scale=50.0, gumbel_scale=5.0)


async def other_network(client: Client, task: PlayGames) -> list[bytes]:
    def uniform(rows: Any) -> tuple[Any, Any]:
        return np.zeros((len(rows), 7), np.float32), np.full((len(rows), 3), 1 / 3, np.float32)

    client.evaluators[task.version] = uniform
    return await client.play(task)


async def other_seed(client: Client, task: PlayGames) -> list[bytes]:
    return await client.play(msgspec.structs.replace(task, seed=task.seed ^ 1))


async def huge_episode(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        meter.begin()
        await client.send(
            GamesComplete(task.assignment, [b"\0" * (messages.MAX_EPISODE_BYTES + 1)])
        )
        return await code_of(client)


async def oversized(lent: LentServer) -> str:
    return await said_first(lent, b"\0" * (messages.MAX_MESSAGE_BYTES + 1))


async def others_assignment(lent: LentServer) -> str:
    """The games that another was given, and played."""
    async with at_work(lent) as (client, task), at_work(lent) as (thief, _):
        played = await client.play(task)
        meter.begin()
        await thief.send(GamesComplete(task.assignment, played))
        return await code_of(thief)


async def replayed(lent: LentServer) -> str:
    """A game that was accepted, in the next assignment."""
    async with at_work(lent) as (client, task):
        played = await client.play(task)
        await client.send(GamesComplete(task.assignment, played))
        await client.next(GamesAccepted)
        following = await client.next(PlayGames)
        meter.begin()
        await client.send(GamesComplete(following.assignment, played))
        return await code_of(client)


async def unknown_assignment(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        played = await client.play(task)
        meter.begin()
        await client.send(GamesComplete(10**9, played))
        return await code_of(client)


async def late(lent: LentServer) -> str:
    async with at_work(lent) as (client, task):
        ledger = lent.lending.ledger
        with ledger._transaction() as database:
            database.execute(
                "UPDATE assignments SET deadline = ? WHERE id = ?",
                (time.time() - 1, task.assignment),
            )
        played = await client.play(task)
        meter.begin()
        await client.send(GamesComplete(task.assignment, played))
        return await code_of(client)


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
        patch.setattr(gateway, "SILENT_S", 0.3)
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
ATTACKS: list[tuple[str, Any, str]] = [
    ("no MessagePack", says(b"\xc1"), "bad_message"),
    ("text instead of bytes", says("{}"), "bad_message"),
    ("nested 100,000 deep", says(DEEP), "bad_message"),
    ("a map of four thousand million", says(b"\xdf\xff\xff\xff\xff"), "bad_message"),
    ("an unknown type", says(type="ADMIN"), "bad_message"),
    ("an unknown field", says(admin=True), "bad_message"),
    ("a number as text", says(protocol="1"), "bad_message"),
    ("an oversized message", oversized, "1009"),
    ("an oversized episode", huge_episode, "bad_message"),
    ("too many episodes", sends(unreadable, episodes=[b"x"] * 65), "bad_message"),
    ("games before WORKER_READY", says(messages.encode(messages.Heartbeat())), "not_ready"),
    ("WORKER_READY twice", ready_twice, "not_ready"),
    ("another protocol", says(protocol=messages.PROTOCOL + 1), "protocol"),
    ("another signature", says(signatures={"connect4": "0" * 16}), "signature"),
    ("no signature", says(signatures={}), "signature"),
    ("a wrong token", says(token="x" * 43), "wrong_token"),
    ("guessed tokens", guessed_tokens, "too_often"),
    ("the token of a revoked user", stolen_token, "revoked"),
    ("the token of a paused user", paused_account, "paused"),
    ("unreadable games", sends(unreadable), "unreadable"),
    ("a truncated game", sends(cut), "unreadable"),
    ("a flipped bit", sends(bit_flipped), "unreadable"),
    ("rubbish without end", refused_often, "refused"),
    ("a flipped result", sends(flipped_result), "forged"),
    ("a game against the rules", sends(illegal), "forged"),
    ("a game without searches", sends(without_search), "forged"),
    ("other weights", sends(other_version), "forged"),
    ("more simulations than allowed", sends(more_simulations), "forged"),
    ("another game's number", sends(other_number), "not_assigned"),
    ("another worker's id", sends(other_worker), "not_assigned"),
    ("another game", sends(other_game), "not_assigned"),
    ("the games of another", others_assignment, "not_yours"),
    ("an assignment that never was", unknown_assignment, "not_yours"),
    ("its own games once more", replayed, "not_assigned"),
    ("games after the deadline", late, "late"),
    ("policies of one simulation", sends(few_simulations), "forged"),
    ("policies of another search", sends(other_search), "forged"),
    ("another network", sends(other_network), "forged"),
    ("another seed", sends(other_seed), "forged"),
    ("a match that was not given", unknown_match, "no_match"),
    ("too many tabs", too_many_tabs, "too_many"),
    ("too many sockets of an address", too_many_sockets, "403"),
    (
        "hoarded assignments",
        hoarded,
        "this account has too many open games; finish some first",
    ),
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
    lent: LentServer, honest: Honest, name: str, attack: Any, code: str
) -> None:
    num_times = int(os.environ.get("ZEROFLEET_ATTACKS", "1"))
    with honest.resting if num_times > 1 else nullcontext():
        spent_s = []
        for _ in range(num_times):
            meter.begin()
            assert asyncio.run(attack(lent)) == code
            spent_s.append(meter.spent_s())
    print(f"{name}: {code}, {1e3 * min(spent_s):.1f} ms")


def test_the_honest_lender_was_not_disturbed(lent: LentServer, honest: Honest) -> None:
    before = honest.num_accepted
    lent.wait_for(lambda: honest.num_accepted > before, "its next games")
    assert honest.fault is None
    account = lent.lending.ledger.account(honest.lender.id)
    assert account is not None
    assert (account.state, account.num_refused) == ("active", 0)


def test_forgers_are_quarantined_and_what_they_sent_is_withdrawn(lent: LentServer) -> None:
    """One who turns after two honest assignments: nothing confirmed is withdrawn, all later is."""
    lender = stranger(lent)

    async def lend() -> list[tuple[int, int]]:
        async with at_work(lent, lender) as (client, task):
            await client.send(GamesComplete(task.assignment, await client.play(task)))
            honest_ids = (await client.next(GamesAccepted)).ids
            ledger = lent.lending.ledger
            task = await client.next(PlayGames)
            # As though trusted for long, and none of these were drawn for a check.
            with ledger._transaction() as database:
                database.execute(
                    "UPDATE accounts SET num_valid = 1000000 WHERE id = ?", (lender.id,)
                )
            forged: list[tuple[int, int]] = []
            while True:
                played = await few_simulations(client, task)
                await client.send(GamesComplete(task.assignment, played))
                answer = await client.next(messages.Message)
                while not isinstance(answer, GamesAccepted | messages.GamesRefused):
                    answer = await client.next(messages.Message)
                if isinstance(answer, messages.GamesRefused):
                    assert answer.code == "forged"
                    return [*honest_ids, *forged]
                forged += answer.ids
                task = next(
                    each for each in reversed(client.received) if isinstance(each, PlayGames)
                )
                if forged:  # the next is drawn for sure
                    with ledger._transaction() as database:
                        database.execute(
                            "UPDATE accounts SET num_valid = 0 WHERE id = ?", (lender.id,)
                        )
                task = await client.next(PlayGames)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("zerofleet.web.lend.trust.MIN_CHECK_PROBABILITY", 0.0)
        honest_ids = asyncio.run(lend())
    accepted = set(honest_ids[:4])
    forged = set(honest_ids[4:])
    assert forged
    lent.wait_for(lambda: forged <= lent.trainer.withdrawn, "the withdrawals")
    assert not accepted & lent.trainer.withdrawn
    with lent.operator() as operator:
        found = next(
            each for each in operator.get("/accounts").json() if each["account"]["id"] == lender.id
        )
    assert found["account"]["state"] == "quarantined"
    assert found["num_withdrawn"] == len(forged)
    assert found["account"]["num_games"] == 4


@pytest.mark.parametrize(("game", "what"), [("backgammon", "dice"), ("beastybar", "hands")])
def test_wrong_dice_and_hands_are_found_in_the_very_game(
    tmp_path: Path, game: str, what: str
) -> None:
    """A game with luck of the sender's choice, by another seed."""
    settings = ["search.num_simulations=2", "network.preset=tiny"] if game == "beastybar" else []
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis, game, *settings) as lent:
        lender = sign_up(lent.url, "lucky")

        async def lend() -> tuple[str, str]:
            async with at_work(lent, lender) as (client, task):
                other = msgspec.structs.replace(task, seed=task.seed ^ 1)
                await client.send(GamesComplete(task.assignment, await client.play(other)))
                refused = await client.next(messages.GamesRefused)
                return refused.code, refused.reason

        code, reason = asyncio.run(lend())
        assert code == "forged"
        assert "seed" in reason
        assert lent.trainer.taken == {}
