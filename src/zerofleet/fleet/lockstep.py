"""Self-play and training by turns in one thread: a run that can be repeated bit by bit."""

from zerofleet import _core, games
from zerofleet.fleet.session import Session
from zerofleet.infer import Evaluator


def run_lockstep(session: Session) -> None:
    """Plays a round of games, trains what they allow, and so on: the same every time."""
    evaluator = session.make_evaluator(session.devices.inference[0])
    train_what_is_due(session)  # steps of a round that an error cut short
    evaluator.load(session.loop.trainer.ema, session.loop.step_count)
    while not session.bus.stopping and session.progress() < 1:
        episodes = play_round(session, evaluator)
        if episodes is None:
            return  # stopped in mid-round: the round is played again when the run goes on
        session.loop.take_in(episodes)
        session.num_rounds += 1
        train_what_is_due(session)
        session.loop.report()
        session.write_status([])
        evaluator.load(session.loop.trainer.ema, session.loop.step_count)
        if session.loop.checkpoint_is_due() or session.loop.step_count == 0:
            session.loop.save(session.rest())


def train_what_is_due(session: Session) -> None:
    """Makes the steps that the games so far allow."""
    batch_size = session.config.train.batch_size
    while (
        session.loop.replay.limiter.may_train(batch_size)
        and (progress := session.progress_without_clock()) < 1
    ):
        session.loop.step(progress)


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
        session.num_rounds,
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
