"""The trainer role of a fleet: trains one run from the games that workers send through Redis.

    train_run(name, config, train_by=trainer_of_fleet(address, TrainerOptions()))

It holds the run's lease, publishes what workers need and trains until the run's stop or a signal;
the same command resumes it. Games that it has not logged stay with their workers.
"""

import copy
import socket
import time
from collections.abc import Sequence
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass

from zerofleet.bus import (
    BusFull,
    BusRefused,
    BusUnreachable,
    NotTheTrainer,
    PublishedWeights,
    RoleEntry,
)
from zerofleet.bus.connect import RedisAddress, untried
from zerofleet.bus.redis import RedisBus
from zerofleet.config import Config
from zerofleet.cores import num_cores, short_switch_interval
from zerofleet.errors import Inconsistent
from zerofleet.fleet.api import TrainBy
from zerofleet.fleet.callbacks import Callbacks
from zerofleet.fleet.facts import FleetFacts
from zerofleet.fleet.handshake import connected_within
from zerofleet.fleet.hardware import DevicePlan, kind_of, plan_devices
from zerofleet.fleet.rater import Rater, known_opponents
from zerofleet.fleet.rater_role import BlockRater
from zerofleet.fleet.rating_blocks import FleetMatches
from zerofleet.fleet.role import LOOPBACK_PORT, HealthPort, RolePresence
from zerofleet.fleet.role_metrics import QueueWatch, Values, disk_values
from zerofleet.fleet.screen import Screen
from zerofleet.fleet.session import TrainerSession
from zerofleet.fleet.status import (
    RefusedWeights,
    RegistryTotals,
    SelfPlayTotals,
    gpu_values,
    num_positions,
    status_values,
)
from zerofleet.infer import Evaluator, make_evaluator
from zerofleet.metrics import Sink
from zerofleet.runs.folder import Run, keep_settings
from zerofleet.training import IntakeThread, NotFinite, ProcessLost
from zerofleet.weights import checked_tensors

TRAINER_ID = "trainer"
COMPLETE = "the run is complete"
POLL_S = 0.1
LAST_GAMES_S = 10.0
"""For games in flight to arrive, once a run has reached its stop."""


@dataclass(frozen=True)
class TrainerOptions:
    """Options of a trainer, besides Redis and the run's settings."""

    num_threads: int = 0
    """Of training on a CPU. 0: run.num_threads."""
    health: HealthPort = LOOPBACK_PORT


def trainer_of_fleet(address: RedisAddress, options: TrainerOptions) -> TrainBy:
    """Trains a run, whose lock the caller holds, until the config's stop or a signal."""

    def train(
        config: Config, run: Run, sinks: Sequence[Sink], screen: Screen, callbacks: Callbacks
    ) -> None:
        with ExitStack() as stack:
            timeout_s = config.fleet.trainer_timeout_s
            bus = stack.enter_context(
                closing(connected_within(timeout_s, address, run.name, screen.say))
            )
            if note := untried(bus.server):
                screen.say(note)
            bus.lead(socket.gethostname(), timeout_s, patience_s=timeout_s, run_id=run.facts.id)
            trainer = FleetTrainer(bus, config, run, sinks, screen, options, stack)
            keep_settings(run, config, screen.say)  # not before: a rejected resume changes none
            trainer.train()

    return train


def refuse_embedded_only(config: Config) -> None:
    """Raises Inconsistent for what only a run in one process does."""
    if config.run.deterministic:
        raise Inconsistent(
            "a deterministic run plays and trains in one process: use `zerofleet train`, or "
            "--no-deterministic"
        )
    for setting, value in (
        ("opponent.share", config.opponent.share),
        ("replay.reanalyse_share", config.replay.reanalyse_share),
    ):
        if value > 0:
            raise Inconsistent(
                f"{setting}={value}: only a run in one process does that: use `zerofleet train`, "
                f"or --set {setting}=0"
            )


class FleetTrainer:
    """The parts of a trainer in a fleet, in order of construction."""

    def __init__(
        self,
        bus: RedisBus,
        config: Config,
        run: Run,
        sinks: Sequence[Sink],
        screen: Screen,
        options: TrainerOptions,
        stack: ExitStack,
    ) -> None:
        # The trainer itself.
        training = plan_devices(config).training
        threads = training_threads(config, training, options.num_threads)
        self._session = session = TrainerSession(
            config, run, bus, DevicePlan(training, training), threads, sinks, screen, stack
        )
        self._bus, self._loop = bus, session.loop
        session.loop.pace_slack_s = config.fleet.pace_slack_s

        # What others must know.
        self._facts = FleetFacts.of(run, config, session.game).encode()
        self._is_introduced = False
        with suppress(BusUnreachable, BusFull):  # then the intake does so later
            self._introduce()
        session.loop.set_pace()  # before workers can play: without one they play ahead
        session.loop.publish()

        # Ratings, by whoever leases their blocks.
        opponents = known_opponents(config, session.loop.weights, screen.say)
        self._rater = Rater(
            matches=FleetMatches(
                run=run,
                game=session.game,
                config=config,
                bus=bus,
                weights=session.loop.weights,
                disk=session.disk,
                screen=screen,
                opponents=opponents,
                helper=BlockRater(
                    TRAINER_ID,
                    session.game,
                    bus,
                    self._evaluator,
                    training[0],
                    config.fleet.block_lease_s,
                ),
                num_threads=threads,
            ),
            config=config,
            weights=session.loop.weights,
            metrics=session.metrics,
            disk=session.disk,
            screen=screen,
            started_s=session.started_s,
            on_fault=session.fail,
        )

        # Games come in beside the training steps.
        self._intake = IntakeThread(session.loop, session.fail, self._introduce)
        self._was_reachable = True
        self._num_malformed = 0
        self._num_weights_in_run = 0

        # What is seen of it, and of the others.
        self._registry = RegistryTotals()
        self._refusals = RefusedWeights()
        self._played = SelfPlayTotals()
        self._roles: list[RoleEntry] = []
        self._queue = QueueWatch(bus, config.fleet.max_backlog_bytes)
        self._presence = stack.enter_context(
            RolePresence(
                "trainer",
                TRAINER_ID,
                bus,
                run.name,
                ", ".join(training),
                self._values,
                options.health,
                read_roles=lambda: self._roles,
                on_heartbeat=self._look_around,
            )
        )
        screen.say(session.start_text(f"threads: {threads} for training"))
        screen.say(f"games come through {bus.server}; health on {self._presence.address}")

    @short_switch_interval()
    def train(self) -> None:
        """Until the run's stop or a signal; then a checkpoint. Workers end with a run that has
        reached its stop; without a trainer they play ahead."""
        session, rater = self._session, self._rater
        with session.graceful_stop.on_signals(rater.interrupt):
            self._intake.start()  # before what takes minutes: the pace counts only what came in
            self._loop.compile_ahead()
            rater.resume()
            try:
                session.train_until_stop(rater, lambda: self._played, self._on_turn)
            except (NotFinite, ProcessLost, NotTheTrainer, BusRefused) as fault:
                session.fail(fault)  # raised after the checkpoint
            self._end_of_training()
            session.write_status(self._played)
            session.finish()
            if not session.graceful_stop.requested:
                self._end_run()
        session.screen.say(session.end_text())

    def _introduce(self) -> None:
        """Publishes the run, its network and what the log has, once."""
        if self._is_introduced:
            return
        self._bus.publish_run(self._facts)
        if self._session.graph is not None:
            self._bus.publish_graph(self._session.graph.encode())
        self._loop.publish_marks()
        self._is_introduced = True

    def _on_turn(self, trained: bool) -> None:
        """Tells what the trainer does, and once when Redis is lost or back."""
        self._presence.beat("trains" if trained else "waits for games")
        if self._bus.reachable != self._was_reachable:
            self._was_reachable = self._bus.reachable
            self._session.screen.say(
                "Redis is back: games arrive again"
                if self._was_reachable
                else "Redis cannot be reached: training continues with the games received so far"
            )

    def _end_of_training(self) -> None:
        self._intake.stop()
        self._rater.interrupt()
        self._rater.join()
        try:
            self._take_in_what_waits()
        except NotTheTrainer as fault:
            self._session.fail(fault)

    def _end_run(self) -> None:
        """Rates the last weights, while self-play is paused, and ends all roles."""
        self._loop.paused = COMPLETE
        self._loop.set_pace()
        if self._session.rates_at_end:
            self._presence.beat("rates the last weights")
            num_games = self._session.config.rating.final_games
            self._rater.rate(self._loop.step_count, self._loop.trainer.copy_ema(), num_games)
        self._presence.beat("ends the run")
        with suppress(BusUnreachable):
            self._bus.end_run()
            end_s = time.monotonic() + LAST_GAMES_S
            while time.monotonic() < end_s and self._has_workers():
                self._take_in_what_waits()
                time.sleep(POLL_S)

    def _evaluator(self, weights: PublishedWeights) -> Evaluator:
        """For rating games that the trainer plays itself."""
        config, network = self._session.config, copy.deepcopy(self._session.network).cpu().eval()
        device = self._session.devices.training[0]
        evaluator = make_evaluator(network, config.run.own_evaluator, device, compiles=False)
        name = f"weights {weights.version}"
        evaluator.load(checked_tensors(weights.data, weights.sha256, name), weights.version)
        return evaluator

    def _has_workers(self) -> bool:
        """A worker leaves the registry once its finished games are confirmed."""
        return any(role.kind == "worker" for role in self._bus.roles())

    def _take_in_what_waits(self) -> None:
        with suppress(BusUnreachable):
            while deliveries := self._bus.receive_episodes():
                self._loop.take_in(deliveries)

    # ---- what is seen of it

    def _look_around(self) -> None:
        """Reads what others do, in the thread of the heartbeat."""
        num_malformed, self._num_malformed = self._num_malformed, self._bus.num_malformed
        if num_new := self._num_malformed - num_malformed:
            self._session.screen.say(
                f"dropped {num_new:,} entries of workers' streams: no games, or of another run"
            )
        self._roles = self._bus.roles()
        self._played = self._registry.update(self._roles)
        for text in self._refusals.new_in(self._roles):
            self._session.write_event("weights_refused", text)
        self._queue.update()
        self._num_weights_in_run = len(self._loop.weights.versions())

    def _values(self) -> Values:
        """Counters and gauges, by the names of the status record and of role_metrics."""
        session = self._session
        elapsed_s = time.monotonic() - session.started_s
        status = status_values(elapsed_s, self._loop, self._played, session.game.max_plies)
        losses, counts = self._loop.last_losses, self._loop.intake.counts
        return {
            **{name: status[name] for name in OWN_VALUES},
            "positions": num_positions(status["rows"], session.game),
            "losses": {name: value for name, value in losses.items() if name != "loss"},
            "steps": self._loop.step_count,
            "refused": counts.num_refused,
            "duplicates": counts.num_duplicates,
            "version": self._bus.weights_version() or 0,
            "weights_published": self._bus.num_published,
            "weights_in_run": self._num_weights_in_run,
            "rating_step": self._rater.last_step or None,
            "rating_score": self._rater.last_scores,
            "rows_allowed": self._loop.replay.limiter.rows_allowed + self._loop.rows_ahead,
            **self._queue.values(),
            **gpu_values(session.gauges),
            **disk_values(session.run.folder),
        }


OWN_VALUES = (
    *("games", "rows", "truncated", "samples", "buffer_rows", "loss"),
    *("training_s", "intake_s", "waiting_to_train_s"),
)
"""Of a status record, those that the trainer counts itself."""


def training_threads(config: Config, devices: Sequence[str], given: int) -> int:
    """Threads of each training process: with a GPU one, on a CPU all that it may have."""
    if kind_of(devices[0]) != "cpu":
        return 1
    return max(1, (given or config.run.num_threads or num_cores()) // len(devices))
