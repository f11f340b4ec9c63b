"""A whole run in one process: workers, trainer and rater around a bus in memory.

    train(config, run, sinks, screen)

Side by side as fast as they go, held together by the replay's limiter; or, in a deterministic run,
by turns in one thread. A run that exists is gone on with from its newest whole checkpoint.
"""

from collections.abc import Sequence
from contextlib import ExitStack

from zerofleet.config import Config
from zerofleet.fleet.callbacks import NO_CALLBACKS, CallbackRaised, Callbacks
from zerofleet.fleet.concurrent import run_concurrent
from zerofleet.fleet.lockstep import run_lockstep
from zerofleet.fleet.screen import PlainScreen, Screen
from zerofleet.fleet.session import Session
from zerofleet.metrics import Sink
from zerofleet.runs.folder import Run, keep_settings
from zerofleet.training import NotFinite, ProcessLost


def train(
    config: Config,
    run: Run,
    sinks: Sequence[Sink] = (),
    screen: Screen | None = None,
    callbacks: Callbacks = NO_CALLBACKS,
) -> None:
    """Trains until the config's stop, or Ctrl-C. The run's lock is the caller's."""
    screen = screen or PlainScreen()
    with ExitStack() as stack:
        session = Session(config, run, sinks, screen, callbacks, stack)
        keep_settings(run, config, screen.say)  # only now: a resume that is refused changes none
        with session.graceful_stop.on_signals(session.stop_soon):
            try:
                if config.run.deterministic:
                    run_lockstep(session)
                else:
                    run_concurrent(session)
            except (NotFinite, ProcessLost) as fault:
                # As that of any other role: it is raised after a checkpoint.
                session.bus.stop(fault)
            except CallbackRaised as raised:
                session.bus.stop(raised.error)
            session.finish()
    screen.say(session.last_words())
