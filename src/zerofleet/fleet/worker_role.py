"""The worker role of a fleet: plays the games of a run, given Redis and the run's name.

    work(address, "c4", options, stop, say)

Game, network and search settings come from the run; code never does, so a custom game is named by
its file. With ONNX Runtime on a CPU, or with inference servers, torch is neither needed nor
imported.
"""

import secrets
import threading
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal, Protocol

from zerofleet import _core
from zerofleet.bus import PublishedWeights, Sender
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus
from zerofleet.cores import short_switch_interval
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.handshake import (
    POLL_S,
    WAIT_S,
    RunWatch,
    Say,
    serve_each_run,
)
from zerofleet.fleet.rater_role import BlockRater
from zerofleet.fleet.role import LOOPBACK_PORT, HealthPort, RolePresence
from zerofleet.fleet.role_metrics import Values, disk_values
from zerofleet.fleet.signals import GracefulStop
from zerofleet.fleet.status import totals_of_threads
from zerofleet.fleet.worker_evaluation import (
    Evaluation,
    Served,
    own_evaluation,
    remote_evaluation,
)
from zerofleet.games import Episode
from zerofleet.infer.evaluator import EvaluatorKind
from zerofleet.selfplay.outbox import SpooledOutbox
from zerofleet.selfplay.spool import run_folder, spool_root
from zerofleet.selfplay.worker import Worker


@dataclass(frozen=True)
class WorkerOptions:
    """Options of a worker, besides Redis and the run."""

    worker_id: str
    process: int | None = None
    """Its number, where the worker has several."""
    game_source: str | None = None
    """The file of a custom game."""
    evaluator: EvaluatorKind | Literal["remote"] | None = None
    """None: what the run says."""
    fallback: bool = False
    """Whether it evaluates by itself while no inference server answers."""
    device: str = "auto"
    num_search_threads: int = 1
    """With a GPU. On a CPU the thread that evaluates also searches."""
    finish_games: bool = False
    drain_s: float = 30.0
    """For finishing games, and for the trainer to confirm what was sent."""
    health: HealthPort = LOOPBACK_PORT

    @property
    def role_id(self) -> str:
        """In the registry."""
        return self.worker_id if self.process is None else f"{self.worker_id}/{self.process}"


def work(
    address: RedisAddress, run: str, options: WorkerOptions, stop: GracefulStop, say: Say
) -> None:
    """Plays until the signal or the end of the run."""

    def play(bus: RedisBus, facts: FleetFacts, weights: PublishedWeights) -> bool:
        session = WorkerSession(bus, facts, weights, options, stop, say)
        session.play()
        return session.is_outdated

    serve_each_run(address, run, stop, say, play)


class Part(Protocol):
    """A thread of a worker."""

    def start(self) -> None: ...
    def join(self) -> None: ...


class WorkerSession:
    """The parts of a worker that serves one run, in order of construction."""

    def __init__(
        self,
        bus: RedisBus,
        facts: FleetFacts,
        weights: PublishedWeights,
        options: WorkerOptions,
        stop: GracefulStop,
        say: Say,
    ) -> None:
        self._bus, self._facts, self._options, self._say = bus, facts, options, say
        self._stop = stop
        self._watch = RunWatch(bus, facts)
        self.is_outdated = False
        """Whether the run is another one by now."""
        self._has_ended = False
        self._faults: list[BaseException] = []

        # The run, which must be what this program can play.
        game = facts.played(options.game_source)
        facts.refuse_unlike(game)
        config = facts.config()

        # The games and who evaluates them.
        self._evaluation = self._evaluated(
            Served(bus, facts, config, game, weights, self._is_ending, self._fail, say)
        )
        slots = self._evaluation.slots
        sender = Sender(options.worker_id, secrets.randbits(64))
        cache_bytes = config.selfplay.cache_bytes
        driver = _core.SelfPlay(
            game,
            config.for_core(),
            slots.num_groups,
            slots.games_per_group,
            slots.num_search_threads,
            None,
            config.run.seed,
            sender.incarnation,
            _core.EvaluationCache(cache_bytes) if cache_bytes else None,
            weights.version,
        )

        # What comes in and goes out.
        self._feed = self._evaluation.feed
        self._outbox = SpooledOutbox(
            bus, sender, facts.run_id, game, config, spool_root(), say, self._fail
        )
        self._games = GamesInHand(self._outbox, slots.num_games)
        pipeline = self._evaluation.make_pipeline(driver)
        self._worker = Worker(
            driver, pipeline, self._games, self._feed, self._is_ending, self._fail
        )
        self._parts: list[Part] = [self._feed, self._worker]
        device = self._evaluation.device
        if (rates_with := self._evaluation.rates_with) is not None:
            lease_s = config.fleet.block_lease_s
            rater = BlockRater(options.role_id, game, bus, rates_with, device, lease_s)
            self._parts.append(
                threading.Thread(
                    target=self._rate_guarded, args=(rater,), name="rater", daemon=True
                )
            )
        self._presence = RolePresence(
            "worker",
            options.role_id,
            bus,
            facts.run_name,
            device,
            self._values,
            options.health,
            read_weights_sha256=lambda: self._feed.sha256,
        )
        say(
            f"{options.role_id} plays {facts.game} for run {facts.run_name}: {slots.num_games:,} "
            f"concurrent games with weights {weights.version}, evaluated on {device}; health on "
            f"{self._presence.address}"
        )

    def _evaluated(self, served: Served) -> Evaluation:
        options, config = self._options, served.config
        kind, num_threads = options.evaluator or config.run.evaluator, options.num_search_threads
        if kind == "remote":
            falls_back = options.fallback or config.fleet.inference_fallback
            return remote_evaluation(served, options.device, num_threads, falls_back)
        return own_evaluation(served, kind, options.device, num_threads)

    @short_switch_interval()
    def play(self) -> None:
        """Until the signal, the end of the run, or another run of its name."""
        with self._presence:
            self._outbox.start()
            for part in self._parts:
                part.start()
            try:
                while not self._is_ending():
                    self._presence.beat(self._evaluation.why_waiting() or self._worker.doing)
                    self.is_outdated = self._watch.is_outdated
                    self._rest()
                    if self._stop.requested:
                        self._drain()
            finally:
                self._has_ended = True
                for part in reversed(self._parts):
                    part.join()
                self._evaluation.close()
                self._close_outbox()
        if self._faults:
            raise self._faults[0]

    def _rest(self) -> None:
        end_s = time.monotonic() + WAIT_S
        while time.monotonic() < end_s and not (self._stop.requested or self._is_ending()):
            time.sleep(POLL_S)

    def _is_ending(self) -> bool:
        return self._has_ended or bool(self._faults) or self._bus.stopping or self.is_outdated

    def _is_idle(self) -> bool:
        """Whether it waits for the trainer, and so may play rating games. A worker that an operator
        has paused does nothing."""
        paused = self._outbox.why_paused
        return bool(paused) and not self._bus.held(self._options.worker_id)

    def _rate_guarded(self, rater: BlockRater) -> None:
        try:
            rater.rate_while_idle(self._is_idle, self._is_ending, self._say)
        except BaseException as fault:
            self._fail(fault)

    def _fail(self, fault: BaseException) -> None:
        self._faults.append(fault)

    def _drain(self) -> None:
        """Finishes unfinished games, if asked to, within the time limit."""
        end_s = time.monotonic() + self._options.drain_s
        if self._options.finish_games:
            self._say(f"finishing games, at most {self._options.drain_s:g} s")
            self._games.expect_all()
            while self._games.num_unfinished and time.monotonic() < end_s and not self._is_ending():
                self._presence.beat(f"finishing {self._games.num_unfinished:,} games")
                time.sleep(POLL_S)
        self._has_ended = True

    def _close_outbox(self) -> None:
        is_awaited = self._bus.pace() is not None and not self.is_outdated
        num_left = self._outbox.close(self._options.drain_s if is_awaited else 0.0)
        counts = self._outbox.values()
        left = f"; {num_left:,} wait in the spool for the next start" if num_left else ""
        if num_left and self.is_outdated:
            folder = run_folder(spool_root(), self._facts.run_id)
            left = f"; {num_left:,} are of the former run and stay in {folder}"
        self._say(f"{self._options.role_id}: {counts['games']:,.0f} games played{left}")

    def _values(self) -> Values:
        """Counters and gauges, by the names of the status record and of role_metrics."""
        return {
            **asdict(totals_of_threads([self._worker])),
            **self._outbox.values(),
            **{name: each for name, each in self._evaluation.values().items() if each is not None},
            "version": self._worker.pipeline.version,
            **disk_values(spool_root()),
        }


class GamesInHand:
    """An outbox that knows which games in hand have finished.

    A driver plays in slots; a game's number modulo their number is its slot.
    """

    def __init__(self, outbox: SpooledOutbox, num_slots: int) -> None:
        self._outbox = outbox
        self._num_slots = num_slots
        self._expected: set[int] = set()

    def expect_all(self) -> None:
        """From now on notes what finishes."""
        self._expected = set(range(self._num_slots))

    @property
    def num_unfinished(self) -> int:
        return len(self._expected)

    def send(self, episodes: Sequence[bytes]) -> None:
        if self._expected:
            sequences = (Episode.decode(data).sequence for data in episodes)
            self._expected -= {sequence % self._num_slots for sequence in sequences}
        self._outbox.send(episodes)

    def wait_to_play(self, timeout_s: float) -> bool:
        return self._outbox.wait_to_play(timeout_s)

    @property
    def why_paused(self) -> str:
        return self._outbox.why_paused
