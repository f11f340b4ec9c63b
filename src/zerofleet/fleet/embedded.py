"""A whole run in one process: workers, trainer and rater around an in-memory bus.

    train(config, run, sinks, screen)

Self-play and training run concurrently, paced by the replay buffer's rate limiter; a deterministic
run alternates them in lockstep, in one thread. An existing run resumes from its newest intact
checkpoint.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from zerofleet import _core, games
from zerofleet.bus import Sender
from zerofleet.config import Config
from zerofleet.cores import short_switch_interval
from zerofleet.fleet.callbacks import NO_CALLBACKS, CallbackRaised, Callbacks
from zerofleet.fleet.opponents import frozen_evaluator, make_opponent, opponent_settings
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.fleet.session import Session
from zerofleet.fleet.status import SelfPlayTotals, totals_of_threads
from zerofleet.infer import Evaluator, make_pipeline
from zerofleet.metrics import Sink
from zerofleet.runs.folder import Run, keep_settings
from zerofleet.selfplay.outbox import DirectOutbox
from zerofleet.selfplay.reanalysis import Reanalyser
from zerofleet.selfplay.worker import WeightsFeed, Worker
from zerofleet.training import NotFinite, ProcessLost

MAX_WORKERS = 1 << 16


def train(
    config: Config,
    run: Run,
    sinks: Sequence[Sink] = (),
    screen: Screen | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Trains until the config's stop, or Ctrl-C. The caller holds the run's lock."""
    screen = screen or PlainScreen()
    with ExitStack() as stack:
        session = Session(config, run, sinks, screen, callbacks, stack)
        keep_settings(run, config, screen.say)  # not before: a rejected resume changes none
        with session.graceful_stop.on_signals(session.stop_soon):
            try:
                if config.run.deterministic:
                    train_in_lockstep(session)
                else:
                    train_concurrently(session)
            except (NotFinite, ProcessLost) as fault:
                session.fail(fault)  # raised after the checkpoint, like a fault of any role
            except CallbackRaised as raised:
                session.fail(raised.error)
            session.finish()
    screen.say(session.end_text())


# ---- concurrent


@short_switch_interval()
def train_concurrently(session: Session) -> None:
    """Logs incoming episodes, trains as far as the rate limiter allows, saves and rates."""
    if session.stop.progress() >= 1:
        return  # nothing to train, so nothing to compile
    if session.compiles:
        session.screen.say("compiling for the GPU: a minute or two, less next time")
    loop, bus = session.loop, session.bus
    loop.compile_ahead()
    with playing_workers(session) as workers:
        session.train_until_stop(
            session.rater,
            lambda: totals_of_threads(workers),
            on_turn=lambda trained: loop.take_in(bus.receive_episodes()),
        )
    loop.report()  # raises now if a step was not finite
    session.write_status(totals_of_threads(workers))


@contextmanager
def playing_workers(session: Session) -> Iterator[list[Worker]]:
    """Workers play inside this context; on exit all their finished episodes are logged."""
    feed = WeightsFeed(
        session.bus, session.loop.step_count, lambda: session.bus.stopping, session.fail
    )
    workers = [make_worker(session, feed, number) for number in range(session.plan.num_workers)]
    roles: list[WeightsFeed | Worker | Reanalyser] = [feed, *workers, *reanalysers(session, feed)]
    session.loop.set_pace()
    session.write_status(totals_of_threads(workers))
    for role in roles:
        role.start()
    try:
        yield workers
    finally:
        session.bus.stop()
        session.rater.interrupt()
        for role in roles:
            role.join()
        session.rater.join()
        session.loop.take_in(session.bus.receive_episodes())


def make_worker(session: Session, feed: WeightsFeed, number: int) -> Worker:
    """A worker with the current weights, not yet started."""
    config, devices = session.config, session.devices.inference
    incarnation = session.loop.counters.num_starts * MAX_WORKERS + number
    evaluator = session.make_evaluator(
        devices[number % len(devices)], compiles=config.run.compile_inference
    )
    driver = _core.SelfPlay(
        session.game,
        config.for_core(),
        session.num_groups,
        session.games_per_group,
        session.plan.search,
        None,
        config.run.seed,
        incarnation,
        session.cache,
        evaluator.version,
        opponent=opponent_settings(config),
        opponent_share=config.opponent.share,
    )
    sizes = session.num_groups, session.games_per_group
    pipeline = make_pipeline(evaluator, *sizes)
    opponent = None
    if config.opponent.share > 0:
        other = make_opponent_evaluator(session, devices[number % len(devices)])
        opponent = make_opponent(session.run, config, other, *sizes, config.run.seed + incarnation)
    outbox = DirectOutbox(session.bus, Sender(f"worker-{number}", incarnation))
    return Worker(
        driver, pipeline, outbox, feed, lambda: session.bus.stopping, session.fail, opponent
    )


def make_opponent_evaluator(session: Session, device: str) -> Evaluator:
    """Of the frozen weights that the run exploits; else with the run's newest, to begin with."""
    config, compiles = session.config, session.config.run.compile_inference
    if config.opponent.source:
        return frozen_evaluator(session.run, config, session.game, device, compiles)
    return session.make_evaluator(device, compiles)


def reanalysers(session: Session, feed: WeightsFeed) -> list[Reanalyser]:
    """One where stored games are to be searched again; not yet started."""
    config = session.config
    if config.replay.reanalyse_share == 0:
        return []
    return [
        Reanalyser(
            session.loop.replay,
            session.game,
            config.for_core(),
            config.run.seed,
            config.replay.reanalyse_share,
            session.make_evaluator(session.devices.inference[-1]),
            feed,
            lambda: session.bus.stopping,
            session.fail,
        )
    ]


# ---- lockstep


def train_in_lockstep(session: Session) -> None:
    """Alternates rounds of games and the training steps that they allow: reproducible."""
    loop = session.loop
    device = session.devices.inference[0]
    evaluator = session.make_evaluator(device)
    other = make_opponent_evaluator(session, device) if session.config.opponent.share else evaluator
    train_allowed_steps(session)  # the rest of a round that an error interrupted
    evaluator.load(loop.trainer.ema, loop.step_count)
    while not session.stopping and session.stop.progress() < 1:
        episodes = play_round(session, evaluator, other)
        if episodes is None:
            return  # stopped mid-round: a resumed run replays the round
        loop.log_episodes(episodes)
        loop.counters.num_rounds += 1
        train_allowed_steps(session)
        loop.report()
        session.write_status(SelfPlayTotals())
        evaluator.load(loop.trainer.ema, loop.step_count)
        if loop.checkpoint_is_due() or loop.step_count == 0:
            loop.save()


def train_allowed_steps(session: Session) -> None:
    """Makes all steps that the rate limiter allows."""
    loop, batch_size = session.loop, session.config.train.batch_size
    while (
        loop.replay.limiter.may_train(batch_size)
        and (progress := session.stop.progress_without_clock()) < 1
    ):
        loop.step(progress)


def play_round(session: Session, evaluator: Evaluator, other: Evaluator) -> list[bytes] | None:
    """One game per slot, ordered by sequence number; None if the run is stopping. `other` plays the
    seats of opponents."""
    num_games = session.num_groups * session.games_per_group
    driver = _core.SelfPlay(
        session.game,
        session.config.for_core(),
        1,
        num_games,
        0,
        None,
        session.config.run.seed,
        session.loop.counters.num_rounds,
        version=evaluator.version,
        opponent=opponent_settings(session.config),
        opponent_share=session.config.opponent.share,
    )
    finished: dict[int, bytes] = {}
    while len(finished) < num_games:
        if session.stopping:
            return None
        batch = driver.next_batch(0)
        if batch is not None:
            group, observations = batch
            asked = other if driver.for_opponent(group) else evaluator
            driver.submit(group, *asked(observations), asked.version)
        for data in driver.take_episodes():
            sequence = games.Episode.decode(data).sequence
            if sequence < num_games:
                finished[sequence] = data
    driver.stop()
    return [finished[sequence] for sequence in range(num_games)]
