"""A whole run in one process: workers, trainer and rater around a bus in memory.

    train(config, run, sinks, screen)

Self-play and training run concurrently, held together by the replay's rate limiter; a deterministic
run alternates them in lockstep, in one thread. A run that exists resumes from its newest whole
checkpoint.
"""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager

from zerofleet import _core, games
from zerofleet.config import Config
from zerofleet.fleet.callbacks import NO_CALLBACKS, CallbackRaised, Callbacks
from zerofleet.fleet.hardware import quick_turns
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.fleet.session import Session
from zerofleet.infer import Evaluator, make_pipeline
from zerofleet.metrics import Sink
from zerofleet.runs.folder import Run, keep_settings
from zerofleet.selfplay.worker import WeightsFeed, Worker
from zerofleet.training import NotFinite, ProcessLost

STATUS_INTERVAL_S = 5.0
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
        keep_settings(run, config, screen.say)  # only now: a resume that is refused changes none
        with session.graceful_stop.on_signals(session.stop_soon):
            try:
                if config.run.deterministic:
                    train_in_lockstep(session)
                else:
                    train_concurrently(session)
            except (NotFinite, ProcessLost) as fault:
                session.fail(fault)  # raised after the checkpoint, like that of any other role
            except CallbackRaised as raised:
                session.fail(raised.error)
            session.finish()
    screen.say(session.last_words())


# ---- concurrently


@quick_turns()
def train_concurrently(session: Session) -> None:
    """Logs what workers send, trains as far as the rate limiter allows, saves and rates."""
    if session.stop.progress() >= 1:
        return  # before it compiles for nothing
    if session.compiles:
        session.screen.say("compiling for the GPU: a minute or two, less the next time")
    loop, rater, bus = session.loop, session.rater, session.bus
    loop.compile_ahead()
    with playing_workers(session) as workers:
        status_at_s = time.monotonic()
        while not bus.stopping and (progress := session.stop.progress()) < 1:
            loop.take_in(bus.receive_episodes())
            if loop.wait_to_train(timeout_s=0.05):
                loop.step(progress)
            rating_is_due = rater.is_due()
            if rating_is_due or loop.checkpoint_is_due():
                loop.save()
            if rating_is_due:
                rater.start(loop.step_count, loop.trainer.copy_ema())
            if time.monotonic() - status_at_s >= STATUS_INTERVAL_S:
                status_at_s = time.monotonic()
                session.write_status(workers)
    loop.report()  # here already: a step that was not finite is reported now
    session.write_status(workers)


@contextmanager
def playing_workers(session: Session) -> Iterator[list[Worker]]:
    """Workers that play within; behind it, all that they have finished is logged."""
    feed = WeightsFeed(session.bus, session.loop.step_count, session.fail)
    workers = [make_worker(session, feed, number) for number in range(session.plan.num_workers)]
    roles: list[WeightsFeed | Worker] = [feed, *workers]
    session.loop.set_pace()
    session.write_status(workers)
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
    """The worker of that number, with the weights as they are; it has not begun."""
    config, devices = session.config, session.devices.inference
    worker_id = session.loop.counters.num_starts * MAX_WORKERS + number
    driver = _core.SelfPlay(
        session.game,
        config.for_core(),
        session.num_groups,
        session.games_per_group,
        session.plan.search,
        None,
        config.run.seed,
        worker_id,
        session.cache,
    )
    evaluator = session.make_evaluator(
        devices[number % len(devices)], compiles=config.run.compile_inference
    )
    pipeline = make_pipeline(evaluator, session.num_groups, session.games_per_group)
    return Worker(worker_id, driver, pipeline, session.bus, feed, session.fail)


# ---- in lockstep


def train_in_lockstep(session: Session) -> None:
    """Plays a round of games, trains what they allow, and so on: the same every time."""
    loop = session.loop
    evaluator = session.make_evaluator(session.devices.inference[0])
    train_what_is_due(session)  # steps of a round that an error cut short
    evaluator.load(loop.trainer.ema, loop.step_count)
    while not session.bus.stopping and session.stop.progress() < 1:
        episodes = play_round(session, evaluator)
        if episodes is None:
            return  # stopped in mid-round: a resumed run plays the round again
        loop.log_episodes(episodes)
        loop.counters.num_rounds += 1
        train_what_is_due(session)
        loop.report()
        session.write_status([])
        evaluator.load(loop.trainer.ema, loop.step_count)
        if loop.checkpoint_is_due() or loop.step_count == 0:
            loop.save()


def train_what_is_due(session: Session) -> None:
    """Makes the steps that the games so far allow."""
    loop, batch_size = session.loop, session.config.train.batch_size
    while (
        loop.replay.limiter.may_train(batch_size)
        and (progress := session.stop.progress_without_clock()) < 1
    ):
        loop.step(progress)


def play_round(session: Session, evaluator: Evaluator) -> list[bytes] | None:
    """One game in each place, in the order of their numbers; None if asked to stop."""
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
    )
    finished: dict[int, bytes] = {}
    while len(finished) < num_games:
        if session.bus.stopping:
            return None
        batch = driver.next_batch(0)
        if batch is not None:
            group, observations = batch
            driver.submit(group, *evaluator(observations), evaluator.version)
        for data in driver.take_episodes():
            sequence = games.Episode.decode(data).sequence
            if sequence < num_games:
                finished[sequence] = data
    driver.stop()
    return [finished[sequence] for sequence in range(num_games)]
