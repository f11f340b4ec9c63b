"""Self-play with an evaluator of the core or a Python callable, without a trainer."""

from collections.abc import Iterator
from typing import Unpack

from zerofleet import _core
from zerofleet.games import Game
from zerofleet.search import Evaluate
from zerofleet.search.evaluate import evaluate_checked
from zerofleet.selfplay.settings import SelfPlaySettings

PATIENCE_S = 0.2
"""Longest wait in the core; between waits Ctrl-C works."""


def play(
    game: Game,
    evaluator: str | Evaluate = "playout",
    *,
    num_episodes: int,
    num_groups: int = 2,
    games_per_group: int = 32,
    num_threads: int = 1,
    seed: int = 1,
    worker: int = 0,
    **settings: Unpack[SelfPlaySettings],
) -> Iterator[bytes]:
    """Yields finished games as encoded episodes.

    The evaluator is one of the core by name, or a callable from observations [B, bytes] to
    policy_logits [B, actions] and outcomes [B, outcomes], float32, as in zf.search.analyse. While
    it evaluates one group's batch, the threads search the others. With num_threads=0 everything
    runs in the caller's thread, in lockstep, as a game in Python requires. Each game depends only
    on the seed, its number and the evaluations.

    Games explore as in training: `settings` default to those of a run's search and selfplay
    sections; see SelfPlaySettings.
    """
    named = evaluator if isinstance(evaluator, str) else None
    version = getattr(evaluator, "version", 0)
    driver = _core.SelfPlay(
        game,
        dict(settings),
        num_groups,
        games_per_group,
        num_threads,
        named,
        seed,
        worker,
        version=version,
    )
    try:
        left = num_episodes
        while left > 0:
            if isinstance(evaluator, str):
                driver.wait_for_episodes(min(left, games_per_group), PATIENCE_S)
            elif (batch := driver.next_batch(PATIENCE_S)) is not None:
                group, observations = batch
                policy_logits, outcomes = evaluate_checked(evaluator, game, observations)
                driver.submit(group, policy_logits, outcomes, getattr(evaluator, "version", 0))
            for episode in driver.take_episodes()[:left]:
                left -= 1
                yield episode
    finally:
        driver.stop()
