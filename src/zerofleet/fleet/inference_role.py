"""The inference role of a fleet: told Redis and a run, it evaluates for that run's workers.

    serve(address, "c4", options, stop, say)

It loads what is published, as a worker does, and is found by workers through the bus. Its own
thread receives, computes and answers; this one keeps the registry up to date.
"""

import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from zerofleet.bus import Bus, BusFull, BusUnreachable, InferenceOffer, PublishedWeights
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus
from zerofleet.cores import short_switch_interval
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.handshake import POLL_S, RunWatch, Say, fetch_of, serve_each_run
from zerofleet.fleet.health import LOOPBACK
from zerofleet.fleet.role import LOOPBACK_PORT, HealthPort, RolePresence
from zerofleet.fleet.role_metrics import Values, percentile_values
from zerofleet.fleet.run_network import GameSlots, RunNetwork
from zerofleet.fleet.signals import GracefulStop
from zerofleet.infer.evaluator import EvaluatorKind
from zerofleet.infer.server import NUM_SLOTS, Batching, InferenceServer
from zerofleet.infer.sockets import PREFIX, CurveKey, ServerSocket
from zerofleet.infer.wire import WireGame
from zerofleet.selfplay.fleet_feed import FleetWeightsFeed


@dataclass(frozen=True)
class InferenceOptions:
    """What an inference server is told, beside Redis and the run."""

    server_id: str
    key: CurveKey | None
    """None: workers of this machine only."""
    host: str = LOOPBACK
    """Where it listens."""
    port: int = 0
    """0: a free one."""
    advertised_host: str | None = None
    """Under which workers reach it; None: `host`."""
    game_source: str | None = None
    """The file of a custom game."""
    evaluator: EvaluatorKind | None = None
    """None: what the run says."""
    device: str = "auto"
    max_batch_rows: int | None = None
    max_wait_ms: float | None = None
    """None: what the run says."""
    drain_s: float = 10.0
    health: HealthPort = LOOPBACK_PORT


def serve(
    address: RedisAddress, run: str, options: InferenceOptions, stop: GracefulStop, say: Say
) -> None:
    """Serves until the signal or the end of the run."""

    def evaluate(bus: RedisBus, facts: FleetFacts, weights: PublishedWeights) -> bool:
        session = InferenceSession(bus, facts, weights, options, stop, say)
        session.serve()
        return session.is_outdated

    serve_each_run(address, run, stop, say, evaluate)


class InferenceSession:
    """The parts of a server of one run, in order of construction."""

    def __init__(
        self,
        bus: Bus,
        facts: FleetFacts,
        weights: PublishedWeights,
        options: InferenceOptions,
        stop: GracefulStop,
        say: Say,
    ) -> None:
        self._bus, self._options, self._stop, self._say = bus, options, stop, say
        self._watch = RunWatch(bus, facts)
        self.is_outdated = False
        """Whether the run is another one by now."""
        self._faults: list[BaseException] = []

        # The run, which must be what this program can evaluate.
        game = facts.played(options.game_source)
        facts.refuse_unlike(game)
        config = facts.config()
        wire = WireGame.of(game, facts.run_id)

        # Who evaluates, and in which batches.
        self._max_behind_s = config.fleet.max_seconds_behind
        max_rows = options.max_batch_rows or config.fleet.max_batch_rows
        max_wait_ms = options.max_wait_ms
        if max_wait_ms is None:
            max_wait_ms = config.fleet.max_wait_ms
        self._socket = ServerSocket(
            options.host, options.port, options.key, wire.request_bytes(max_rows)
        )
        network = RunNetwork(bus, facts, config, game, options.evaluator, options.device)
        evaluator = network.evaluator(weights, config.run.compile_inference)
        self._feed = FleetWeightsFeed(
            bus,
            weights.version,
            self._is_ending,
            self._fail,
            config.fleet,
            say,
            weights.sha256,
            fetch_of(config, facts.run_name, say),
        )
        self._server = InferenceServer(
            self._socket.socket,
            wire,
            network.pipeline(evaluator, GameSlots(0, NUM_SLOTS, max_rows)),
            Batching.on(network.device, max_rows, max_wait_ms / 1000),
            self._feed.load_newest,
            self._why_paused,
        )
        self._serving = threading.Thread(target=self._serve_guarded, name="server", daemon=True)

        # Who may know of it.
        host = options.advertised_host or options.host
        shown = f"[{host}]" if ":" in host else host
        self._offer = InferenceOffer(
            options.server_id,
            f"{PREFIX}{shown}:{self._socket.port}",
            options.key.public if options.key else "",
        )
        self._presence = RolePresence(
            "inference",
            options.server_id,
            bus,
            facts.run_name,
            network.device,
            self._values,
            options.health,
            on_heartbeat=self._make_offer,
            read_weights_sha256=lambda: self._feed.sha256,
        )
        self._max_rows = max_rows
        say(
            f"{options.server_id} evaluates {facts.game} for run {facts.run_name} with weights "
            f"{weights.version} on {network.device}, at {self._offer.address} "
            f"{'with' if options.key else 'without'} a key; health on {self._presence.address}"
        )

    @short_switch_interval()
    def serve(self) -> None:
        """Until the signal, the end of the run, or another run of its name."""
        with self._presence:
            self._feed.start()
            self._serving.start()
            try:
                num_turns = -1
                while not self._is_ending():
                    if self._server.counts.num_turns != num_turns:
                        num_turns = self._server.counts.num_turns
                        self._presence.beat(self._doing)
                    self.is_outdated = self._watch.is_outdated
                    time.sleep(POLL_S)
            finally:
                self._end()
        if self._faults:
            raise self._faults[0]

    def _end(self) -> None:
        """Workers are told first, then answered for as long as they still ask."""
        with suppress(BusUnreachable, BusFull):
            self._bus.end_offer(self._options.server_id)
        self._serving.join()
        self._feed.join()
        self._socket.close()
        counts = self._server.counts
        self._say(
            f"{self._options.server_id}: {counts.num_requests:,} requests answered, "
            f"{counts.num_refused:,} refused"
        )

    def _make_offer(self) -> None:
        if not self._is_ending():
            self._bus.offer_inference(self._offer)

    def _serve_guarded(self) -> None:
        try:
            self._server.serve(self._is_ending, self._options.drain_s)
        except BaseException as fault:
            self._fail(fault)

    def _why_paused(self) -> str:
        """Why its weights must not be used. How many versions an answer may be behind is for the
        worker to judge, so that a server answers while it fetches."""
        behind_s = self._feed.values()["weights_behind_s"] or 0.0
        if behind_s <= self._max_behind_s or not self._bus.reachable:
            return ""
        return f"{behind_s:.0f} s behind (fleet.max_seconds_behind)"

    @property
    def _doing(self) -> str:
        return self._why_paused() or f"evaluates at {self._offer.address}"

    def _is_ending(self) -> bool:
        stopping = self._stop.requested or self._bus.stopping or self.is_outdated
        return stopping or bool(self._faults)

    def _fail(self, fault: BaseException) -> None:
        self._faults.append(fault)

    def _values(self) -> Values:
        """Counters and gauges, by the names of role_metrics."""
        counts, batches = self._server.counts, self._server.pipeline.counts
        rows_possible = batches.num_batches * self._max_rows
        fill: Mapping[str, float] = (
            {"batch_fill": batches.num_rows / rows_possible} if rows_possible else {}
        )
        return {
            **self._feed.values(),
            "requests": counts.num_requests,
            "requests_refused": counts.num_refused,
            "inferences": batches.num_rows,
            "batches": batches.num_batches,
            "batches_merged": counts.num_merged,
            "rows_computed": batches.num_computed,
            "device_busy_s": batches.busy_s,
            "device_queue_s": batches.queued_s,
            "queued_rows": self._server.num_queued_rows,
            **fill,
            **percentile_values("latency", counts.latencies),
            "version": self._server.pipeline.version,
        }
