"""A run that browsers can play for: a real Redis, a server that lends, and a trainer that takes
games in as they come, without training."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import numpy as np
import pytest
from redis_server import RedisServer

from zerofleet import _core, config, games, nets
from zerofleet.bus import Delivery, EpisodeId, Pace
from zerofleet.bus.redis import RedisBus
from zerofleet.fleet.facts import FleetFacts, episode_format, program_version
from zerofleet.games import Episode, Game
from zerofleet.nets.onnx import exported
from zerofleet.web import safety
from zerofleet.web.lend import accounts
from zerofleet.web.lend.lending import Lending
from zerofleet.web.safety import Rate
from zerofleet.web.server import Server
from zerofleet.weights import encoded_tensors

RUN = "lent"
PATIENCE_S = 60.0
UNLIMITED = Rate(burst=10**9, per_s=10**9)
SETTINGS = (
    "network.preset=tiny",
    "search.num_simulations=8",
    "lend.refresh_minutes=0",
    "lend.max_games_at_once=4",
)


class TakingTrainer:
    """Publishes a run and weights, and takes in games and withdrawals."""

    def __init__(self, server: RedisServer, game: Game, chosen: config.Config, run_id: str) -> None:
        self.game, self.config = game, chosen
        self.bus = RedisBus(server.address(), RUN)
        self.bus.lead("here", timeout_s=60, run_id=run_id)
        facts = FleetFacts(
            run_id=run_id,
            run_name=RUN,
            game=game.name,
            is_custom=False,
            options=chosen.game.options,
            rules=games.fingerprint(game),
            episode_format=episode_format(),
            signature=_core.signature(game),
            program=program_version(),
            settings=chosen.to_yaml(),
        )
        network = nets.build(game, chosen.network.preset, **chosen.network.options)
        # A fresh network hardly prefers anything, so that any search gives the same policy.
        self.tensors = {
            name: each.numpy() * np.float32(2) if each.dim() > 1 else each.numpy()
            for name, each in network.state_dict().items()
        }
        self.bus.publish_graph(exported(network.spec).encode())
        self.bus.publish_run(facts.encode())
        self.publish(1)
        self.taken: dict[EpisodeId, bytes] = {}
        self.num_twice = 0
        self.withdrawn: set[EpisodeId] = set()
        self._marks: dict[object, int] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def publish(self, step: int) -> int:
        """The same network with a little noise."""
        generator = np.random.default_rng(step)
        tensors = {
            name: each
            if each.dtype != np.float32
            else (each + generator.normal(0, 0.01, each.shape)).astype(np.float32)
            for name, each in self.tensors.items()
        }
        data, sha256 = encoded_tensors(tensors)
        return self.bus.publish_weights(step, sha256, data, at_least=step)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()
        self.bus.close()

    def _run(self) -> None:
        self.bus.set_pace(Pace(0, 10**9))
        paced_s = time.monotonic()
        while not self._ended.wait(0.02):
            if time.monotonic() > paced_s + 1:
                self.bus.set_pace(Pace(0, 10**9))
                paced_s = time.monotonic()
            if deliveries := self.bus.receive_episodes():
                self._take(deliveries)
            self.withdrawn |= set(self.bus.take_withdrawals())

    def _take(self, deliveries: Sequence[Delivery]) -> None:
        """Marks follow the order of the spool, as those of a trainer do."""
        for each in deliveries:
            episode = Episode.decode(each.episode)
            assert episode.worker == each.sender.incarnation
            episode.verify(self.game)
            name = (episode.worker, episode.sequence)
            self.num_twice += name in self.taken
            self.taken[name] = each.episode
        marks = {each.sender: each.number + 1 for each in deliveries}
        self.bus.set_marks(marks)
        self.bus.acknowledge(deliveries)


@dataclass
class LentServer:
    """A server that lends, and its trainer."""

    server: Server
    trainer: TakingTrainer
    said: list[str] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def game(self) -> Game:
        return self.trainer.game

    @property
    def lending(self) -> Lending:
        assert self.server.services.lending is not None
        return self.server.services.lending

    def operator(self) -> httpx.Client:
        """Who has the server's token."""
        cookies = {safety.COOKIE: self.server.doors.token or ""}
        return httpx.Client(base_url=f"{self.url}/api/v1/lend/operator", cookies=cookies)

    def wait_for(self, holds: Callable[[], object], what: str) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while not holds():
            assert time.monotonic() < end_s, f"waited in vain for {what}; {self.said}"
            time.sleep(0.02)


def lent_config(game: str, *settings: str) -> config.Config:
    return config.load(game, "fast", overrides=[*SETTINGS, *settings])


@contextmanager
def serving(redis: RedisServer, said: list[str], public_url: str = "") -> Iterator[Server]:
    """A server that lends, once it has found the run."""
    lending = Lending(RUN, said.append, str(redis.address()))
    server = Server(port=0, run=RUN, lending=lending, public_url=public_url)
    server.start()
    try:
        end_s = time.monotonic() + PATIENCE_S
        while lending.status().lent is None:
            assert time.monotonic() < end_s, (lending.status().reason, said)
            time.sleep(0.02)
        yield server
    finally:
        server.stop()


@contextmanager
def lent_server(
    folder: Path,
    redis: RedisServer,
    game: str = "connect4",
    *settings: str,
    public_url: str = "",
) -> Iterator[LentServer]:
    chosen = lent_config(game, *settings)
    said: list[str] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ZEROFLEET_LEND", str(folder / "lend"))
        patch.setenv("ZEROFLEET_SPOOL", str(folder / "spool"))
        patch.setenv("ZEROFLEET_RUNS", str(folder / "runs"))
        for name in ("SIGN_UPS", "MESSAGES", "REFUSALS", "BAD_TOKENS"):
            patch.setattr(accounts, name, UNLIMITED)
        patch.setattr(safety, "CHANGES", UNLIMITED)
        trainer = TakingTrainer(redis, games.get(game, **chosen.game.options), chosen, "run-1")
        with closing(trainer), serving(redis, said, public_url) as server:
            yield LentServer(server, trainer, said)
