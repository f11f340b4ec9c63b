"""The gateway: games of honest lenders reach the run, each once, whatever ends in between."""

import asyncio
import json
import socket
import tracemalloc
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from types import SimpleNamespace

import httpx
import pytest
from lending_client import Client, connected, play, sign_up
from lent_run import LentServer, lent_server, serving
from redis_server import RedisServer, needs_redis
from websockets.exceptions import ConnectionClosed

from zerofleet.games import Episode
from zerofleet.web.lend import messages, weights
from zerofleet.web.lend.messages import GamesAccepted, GamesComplete, PlayGames, WeightsUpdate

pytestmark = needs_redis


def test_honest_games_are_accepted_and_reach_the_trainer_once(lent: LentServer) -> None:
    lender = sign_up(lent.url, "ada")

    async def lend() -> list[tuple[int, int]]:
        async with connected(lent.url, lender, lent.game) as client:
            task = await client.next(PlayGames)
            played = await client.play(task)
            await client.send(GamesComplete(task.assignment, played))
            accepted = (await client.next(GamesAccepted)).ids
            # Sent again: the ids make it harmless.
            await client.send(GamesComplete(task.assignment, played))
            assert (await client.next(GamesAccepted)).ids == accepted
            return accepted

    accepted = asyncio.run(lend())
    assert len(accepted) == 4
    lent.wait_for(lambda: set(accepted) <= set(lent.trainer.taken), "the games")
    assert lent.trainer.num_twice == 0
    headers = {"Authorization": f"Bearer {lender.token}"}
    mine = httpx.get(f"{lent.url}/api/v1/lend/me", headers=headers).json()
    assert (mine["num_games"], mine["state"], mine["rank"]) == (4, "active", 1)
    assert mine["num_samples"] == sum(
        len(Episode.decode(lent.trainer.taken[each]).events) for each in accepted
    )


def test_the_games_are_those_of_a_native_worker_with_the_same_seed(lent: LentServer) -> None:
    lender = sign_up(lent.url, "bea")

    async def lend() -> tuple[PlayGames, Client]:
        async with connected(lent.url, lender, lent.game) as client:
            task = await client.next(PlayGames)
            await client.send(GamesComplete(task.assignment, await client.play(task)))
            await client.next(GamesAccepted)
            return task, client

    task, client = asyncio.run(lend())
    assert task.settings["reuse_tree"] is False
    wanted = play(task, client.evaluators[task.version])
    ids = [(task.worker, task.first_sequence + i) for i in range(task.count)]
    lent.wait_for(lambda: set(ids) <= set(lent.trainer.taken), "the games")
    assert [lent.trainer.taken[each] for each in ids] == wanted


def test_new_weights_reach_the_tab_and_its_next_games(lent: LentServer) -> None:
    lender = sign_up(lent.url, "cyd")

    async def lend() -> None:
        async with connected(lent.url, lender, lent.game) as client:
            task = await client.next(PlayGames)
            version = await asyncio.to_thread(lent.trainer.publish, task.version + 1)
            assert (await client.next(WeightsUpdate)).version == version
            # The games that it has are played with their own version.
            await client.send(GamesComplete(task.assignment, await client.play(task)))
            while (task := await client.next(PlayGames)).version != version:
                await client.send(GamesComplete(task.assignment, await client.play(task)))
            await client.send(GamesComplete(task.assignment, await client.play(task)))
            await client.next(GamesAccepted)

    asyncio.run(lend())


def test_new_weights_are_checked_by_the_rows_of_one_game(
    lent: LentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search for each version would leave its memory behind."""

    def search_again(game: object) -> None:
        raise AssertionError("it was played at the start")

    monkeypatch.setattr(weights, "check_rows", search_again)
    before = lent.lending.status().lent.version  # type: ignore[union-attr]
    version = lent.trainer.publish(before + 1)
    lent.wait_for(
        lambda: (found := lent.lending.status().lent) and found.version == version, "new weights"
    )


def test_weights_need_the_token_in_the_header(lent: LentServer) -> None:
    lender = sign_up(lent.url, "dot")
    version = lent.lending.status().lent.version  # type: ignore[union-attr]
    path = f"{lent.url}/lend/v1/weights/{version}.onnx"
    assert httpx.get(path).status_code == 401
    assert httpx.get(path, params={"token": lender.token}).status_code == 401
    headers = {"Authorization": f"Bearer {lender.token}"}
    assert httpx.get(path, headers=headers).status_code == 200
    gone = f"{lent.url}/lend/v1/weights/999999.onnx"
    assert httpx.get(gone, headers=headers).status_code == 404


def test_downloads_that_are_not_read_hold_no_copies_of_the_weights(
    lent: LentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = SimpleNamespace(onnx=bytes(8 << 20), sha256="0" * 64)
    monkeypatch.setattr(lent.lending, "weights", lambda token, version: found)
    address = ("127.0.0.1", lent.server.port)
    request = (
        f"GET /lend/v1/weights/1.onnx HTTP/1.1\r\nHost: 127.0.0.1:{lent.server.port}\r\n"
        f"Authorization: Bearer {'t' * 32}\r\n\r\n"
    )
    with ExitStack() as stack:
        tracemalloc.start()
        stack.callback(tracemalloc.stop)
        before = tracemalloc.get_traced_memory()[0]
        readers = []
        for _ in range(8):
            reader = stack.enter_context(socket.create_connection(address))
            reader.sendall(request.encode())
            readers.append(reader)
        for reader in readers:
            assert b" 200 " in reader.recv(200)
        held = tracemalloc.get_traced_memory()[0] - before
        assert held < len(found.onnx) / 2
        # Who reads gets all of it.
        rest = 0
        while rest < len(found.onnx):
            data = readers[0].recv(1 << 20)
            assert data
            rest += len(data)


def test_games_survive_a_restart_of_the_gateway_and_count_once(tmp_path: Path) -> None:
    """Finished before, sent after; and accepted before, sent again after."""
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis) as lent:
        lender = sign_up(lent.url, "eve")

        async def first() -> tuple[PlayGames, list[bytes]]:
            async with connected(lent.url, lender, lent.game) as client:
                task = await client.next(PlayGames)
                played = await client.play(task)
                await client.send(GamesComplete(task.assignment, played[:2]))
                await client.next(GamesAccepted)
                return task, played

        task, played = asyncio.run(first())
        lent.server.stop()
        with serving(redis, lent.said) as again:

            async def second() -> list[tuple[int, int]]:
                url = f"http://127.0.0.1:{again.port}"
                async with connected(url, lender, lent.game) as client:
                    await client.send(GamesComplete(task.assignment, played))
                    return (await client.next(GamesAccepted)).ids

            accepted = asyncio.run(second())
            assert sorted(accepted) == [
                (task.worker, task.first_sequence + i) for i in range(task.count)
            ]
            lent.wait_for(lambda: len(lent.trainer.taken) >= 4, "the games")
        sequences = sorted(sequence for _, sequence in lent.trainer.taken)
        assert sequences == list(range(task.first_sequence, task.first_sequence + 4))
        # The later ones are under the incarnation of the start that sent them.
        assert len({worker for worker, _ in lent.trainer.taken}) == 2


def test_games_spooled_but_not_recorded_before_a_crash_count_once(
    tmp_path: Path, monkeypatch: object
) -> None:
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis) as lent:
        lender = sign_up(lent.url, "fay")
        ledger = lent.lending.ledger

        def crash(taken: object) -> None:
            raise OSError("the machine died here")

        async def lend(url: str, sent: list[bytes], number: int) -> messages.Message:
            async with connected(url, lender, lent.game) as client:
                if not sent:
                    task = await client.next(PlayGames)
                    sent += await client.play(task)
                    number = task.assignment
                    numbers.append(number)
                    ledger.take_all = crash  # type: ignore[method-assign]
                await client.send(GamesComplete(number, sent))
                kind = messages.Refused if len(numbers) == 1 and not done else GamesAccepted
                return await client.next(kind)

        sent: list[bytes] = []
        numbers: list[int] = []
        done: list[int] = []
        refused = asyncio.run(lend(lent.url, sent, 0))
        assert isinstance(refused, messages.Refused)
        assert refused.code == "later"
        lent.wait_for(lambda: len(lent.trainer.taken) == 4, "the games that were spooled")
        # Killed: the spool is not removed, as a clean end would.
        kept = [
            (path, path.read_bytes()) for path in tmp_path.glob("spool/*/*/*") if path.is_file()
        ]
        lent.server.stop()
        for path, data in kept:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        done.append(1)
        with serving(redis, lent.said) as again:
            accepted = asyncio.run(lend(f"http://127.0.0.1:{again.port}", sent, numbers[0]))
            assert isinstance(accepted, GamesAccepted)
            assert len(accepted.ids) == 4
        assert len(lent.trainer.taken) == 4


def test_pages_are_isolated_for_threads_and_only_lending_is_open(lent: LentServer) -> None:
    status = httpx.get(f"{lent.url}/api/v1/lend")
    assert status.json()["is_on"]
    assert status.json()["lent"]["game"] == "connect4"
    for name, value in (
        ("cross-origin-opener-policy", "same-origin"),
        ("cross-origin-embedder-policy", "require-corp"),
    ):
        assert status.headers[name] == value
    assert "'wasm-unsafe-eval'" in status.headers["content-security-policy"]
    for path in ("/lend", "/community", "/api/v1/lend/community"):
        assert httpx.get(lent.url + path).status_code in (200, 503)  # pages may not be built
    for path in ("/runs", "/api/v1/runs", "/api/v1/lend/operator/accounts", "/api/v1/openapi.json"):
        assert httpx.get(lent.url + path).status_code == 401
    with lent.operator() as operator:
        assert operator.get("/accounts").status_code == 200
    assert httpx.get(lent.url + "/").headers["location"] == "/lend"


def test_a_paused_run_pauses_its_tabs(lent: LentServer) -> None:
    lender = sign_up(lent.url, "gil")
    lent.trainer.bus.hold("browsers", "a test")

    async def lend() -> None:
        async with connected(lent.url, lender, lent.game) as client:
            assert "a test" in (await client.next(messages.Pause)).reason
            await asyncio.to_thread(lent.trainer.bus.hold, "browsers", "")
            assert await client.next(PlayGames)

    lent.wait_for(lambda: lent.lending.status().lent.paused, "the pause")  # type: ignore[union-attr]
    asyncio.run(lend())


def test_a_server_that_ends_drains_its_tabs(tmp_path: Path) -> None:
    with RedisServer(tmp_path) as redis, lent_server(tmp_path, redis) as lent:
        lender = sign_up(lent.url, "hal")

        async def lend() -> tuple[list[str], int]:
            async with connected(lent.url, lender, lent.game) as client:
                await client.next(PlayGames)
                ending = asyncio.create_task(asyncio.to_thread(lent.server.stop))
                seen = []
                try:
                    while True:
                        seen.append(type(await client.next(messages.Message)).__name__)
                except ConnectionClosed as closed:
                    await ending
                    return seen, closed.rcvd.code if closed.rcvd else 0
            raise AssertionError

        seen, code = asyncio.run(lend())
        assert "Drain" in seen
        assert code in (1012, 1013)


def test_the_community_page_counts_by_reliability(lent: LentServer) -> None:
    sign_up(lent.url, "ian")  # without a game: on no list
    found = httpx.get(f"{lent.url}/api/v1/lend/community").json()
    names = [each["name"] for each in found["users"]]
    assert "ada" in names
    assert "ian" not in names
    assert found["totals"]["num_games"] == sum(each["num_games"] for each in found["users"])
    assert found["totals"]["num_games"] == sum(each["num_games"] for each in found["history"])
    assert json.dumps(found)


def test_a_tab_that_is_closed_while_its_games_are_written_stops_nobody(
    lent: LentServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway = lent.lending._gateway
    assert gateway is not None
    is_writing, may_write, send = Event(), Event(), gateway.role.send

    def slow_send(episodes: Sequence[bytes]) -> None:
        is_writing.set()
        assert may_write.wait(30)
        send(episodes)

    monkeypatch.setattr(gateway.role, "send", slow_send)

    lender = sign_up(lent.url, "kim")

    async def leave() -> list[bytes]:
        async with connected(lent.url, lender, lent.game) as client:
            task = await client.next(PlayGames)
            played = await client.play(task)
            await client.send(GamesComplete(task.assignment, played))
            assert await asyncio.to_thread(is_writing.wait, 30)
            return played

    async def stay() -> None:
        async with connected(lent.url, sign_up(lent.url, "lea"), lent.game) as client:
            await client.lend(1)

    played = asyncio.run(leave())
    gateway.close_tabs(lender.id, "paused", "a test")
    lent.wait_for(lambda: gateway.num_online(lender.id) == 0, "the tab to be closed")
    may_write.set()
    asyncio.run(stay())
    assert lent.lending.ledger.num_games_since(lender.id, 0) == len(played)
