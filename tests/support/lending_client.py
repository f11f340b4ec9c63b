"""A program that lends: the Python counterpart of a browser's tab, honest unless told otherwise.

account = sign_up(server, "ada")
async with connected(server, account) as client:
    message = await client.next(PlayGames)
    await client.send(GamesComplete(message.assignment, client.play(message)))
    accepted = await client.next(GamesAccepted)
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import numpy as np
import onnxruntime
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from zerofleet import _core, games
from zerofleet.games import Game
from zerofleet.web.lend import messages
from zerofleet.web.lend.accounts import CONSENT
from zerofleet.web.lend.messages import PlayGames, WeightsUpdate, WorkerReady

PATIENCE_S = 60.0
FEATURES = messages.Features(simd=True, threads=False, webgpu=False)

Some = TypeVar("Some", bound=messages.Message)
Evaluate = Callable[[Any], tuple[Any, Any]]


@dataclass(frozen=True)
class Lender:
    id: int
    name: str
    token: str


def sign_up(base_url: str, name: str) -> Lender:
    asked = {"name": name, "consent": CONSENT.version}
    answer = httpx.post(f"{base_url}/api/v1/lend/accounts", json=asked, timeout=PATIENCE_S)
    assert answer.status_code == 201, answer.text
    return Lender(**answer.json())


def ready(token: str, game: Game, **changed: Any) -> WorkerReady:
    facts: dict[str, Any] = {
        "protocol": messages.PROTOCOL,
        "token": token,
        "id": hashlib.sha256(token.encode()).digest()[:16],
        "backend": "wasm",
        "signatures": {game.name: _core.signature(games.get(game.name))},
        "features": FEATURES,
    }
    return WorkerReady(**(facts | changed))


def evaluator_of(data: bytes) -> Evaluate:
    """Of an ONNX file, as a browser evaluates it."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])

    def evaluate(rows: Any) -> tuple[Any, Any]:
        outputs = session.run(["policy_logits", "outcomes"], {"observations": rows})
        return outputs[0], outputs[1]

    return evaluate


def play(task: PlayGames, evaluate: Evaluate, **settings: Any) -> list[bytes]:
    """The games of an assignment, in their order. `settings` are what a cheat changes."""
    game = games.get(task.game, **task.options)
    driver = _core.SelfPlay(
        game, task.settings | settings, 1, task.count, 0, None,
        task.seed, task.worker, None, task.version, task.first_sequence, task.count,
    )  # fmt: skip
    while not driver.finished:
        if (batch := driver.next_batch(1.0)) is not None:
            group, rows = batch
            driver.submit(group, *evaluate(np.ascontiguousarray(rows)), task.version)
    played = driver.take_episodes()
    driver.stop()
    return sorted(played, key=lambda data: games.Episode.decode(data).sequence)


class WrongAnswers(AssertionError):
    """The self-check after loading weights failed."""


@dataclass
class Client:
    """One socket."""

    base_url: str
    lender: Lender
    socket: ClientConnection
    received: list[messages.Message] = field(default_factory=list)
    evaluators: dict[int, Evaluate] = field(default_factory=dict)

    async def send(self, message: messages.Message) -> None:
        await self.socket.send(messages.encode(message))

    async def next(self, kind: type[Some], patience_s: float = PATIENCE_S) -> Some:
        """The next message of a kind; others are kept in `received`. Weights are loaded."""
        while True:
            data = await asyncio.wait_for(self.socket.recv(), patience_s)
            assert isinstance(data, bytes)
            message = messages.decode_answer(data)
            self.received.append(message)
            if isinstance(message, WeightsUpdate) and message.version not in self.evaluators:
                await self.load(message)
            if isinstance(message, kind):
                return message

    async def load(self, update: WeightsUpdate) -> None:
        """Fetches and checks weights as a tab does."""
        headers = {"Authorization": f"Bearer {self.lender.token}"}
        async with httpx.AsyncClient(base_url=self.base_url, timeout=PATIENCE_S) as http:
            answer = await http.get(update.url, headers=headers)
        assert answer.status_code == 200, answer.text
        assert hashlib.sha256(answer.content).hexdigest() == update.sha256
        assert len(answer.content) == update.size_bytes
        evaluate = evaluator_of(answer.content)
        rows = np.frombuffer(update.check.observations, np.uint8)
        logits, outcomes = evaluate(rows.reshape(update.check.num_rows, -1))
        for got, wanted in (
            (logits, update.check.policy_logits),
            (outcomes, update.check.outcomes),
        ):
            if not np.allclose(got.ravel(), np.frombuffer(wanted, "<f4"), atol=1e-3):
                raise WrongAnswers
        self.evaluators[update.version] = evaluate

    async def play(self, task: PlayGames, **settings: Any) -> list[bytes]:
        evaluate = self.evaluators[task.version]
        return await asyncio.to_thread(play, task, evaluate, **settings)

    async def lend(self, num_games: int) -> int:
        """Plays honestly until so many games were accepted."""
        num_accepted = 0
        while num_accepted < num_games:
            task = await self.next(PlayGames)
            await self.send(messages.GamesComplete(task.assignment, await self.play(task)))
            num_accepted += len((await self.next(messages.GamesAccepted)).ids)
        return num_accepted


@asynccontextmanager
async def connected(
    base_url: str, lender: Lender, game: Game, **changed: Any
) -> AsyncIterator[Client]:
    """A tab that has said WORKER_READY."""
    url = base_url.replace("http", "ws", 1) + messages.SOCKET_PATH
    async with connect(url, max_size=None, compression=None, open_timeout=PATIENCE_S) as socket:
        client = Client(base_url, lender, socket)
        await client.send(ready(lender.token, game, **changed))
        with suppress(ConnectionClosed):
            yield client
