"""Self-play and training side by side, as fast as they go."""

import time

from zerofleet import _core
from zerofleet.fleet.session import Session
from zerofleet.fleet.threads import quick_turns
from zerofleet.infer import make_pipeline
from zerofleet.selfplay.worker import Worker

STATUS_EVERY_S = 5.0
MAX_WORKERS = 1 << 16


@quick_turns()
def run_concurrent(session: Session) -> None:
    """Workers, trainer and rater at once, held together by the replay's limiter."""
    if session.progress() >= 1:
        return  # before it compiles for nothing
    if session.compiles:
        session.screen.say("compiling for the GPU: a minute or two, less the next time")
    session.loop.compile_ahead()
    workers = [make_worker(session, number) for number in range(session.plan.num_workers)]
    session.loop.publish()
    session.write_status(workers)
    for worker in workers:
        worker.start()
    status_at_s = time.monotonic()
    batch_size = session.config.train.batch_size
    try:
        while not session.bus.stopping and (progress := session.progress()) < 1:
            session.loop.take_in(session.bus.take_episodes())
            start = time.perf_counter()
            if session.loop.replay.limiter.wait_to_train(batch_size, timeout_s=0.05):
                session.loop.step(progress)
            else:
                session.loop.times.waiting_for_games_s += time.perf_counter() - start
            rating_is_due = session.rater.is_due()
            if session.loop.checkpoint_is_due() or rating_is_due:
                session.loop.save(session.rest())
            if rating_is_due:
                session.rater.start(session.loop.step_count, session.loop.trainer.copy_ema())
            if time.monotonic() - status_at_s >= STATUS_EVERY_S:
                status_at_s = time.monotonic()
                session.write_status(workers)
    finally:
        session.bus.stop()
        session.rater.interrupt()
        for worker in workers:
            worker.join()
        session.rater.join()
        session.loop.take_in(session.bus.take_episodes())
    # Here already: where the last steps found a number that is not finite, it is said now.
    session.loop.report()
    session.write_status(workers)


def make_worker(session: Session, number: int) -> Worker:
    """The worker of that number, with the weights as they are; it has not begun."""
    config = session.config
    devices = session.devices.inference
    driver = _core.SelfPlay(
        session.game,
        config.for_core(),
        session.num_groups,
        session.games_per_group,
        session.plan.search,
        None,
        config.run.seed,
        session.num_starts * MAX_WORKERS + number,
        session.cache,
    )
    evaluator = session.make_evaluator(
        devices[number % len(devices)], compiles=config.run.compile_inference
    )
    pipeline = make_pipeline(evaluator, session.num_groups, session.games_per_group)
    return Worker(driver, pipeline, session.bus, session.loop.may_play)
