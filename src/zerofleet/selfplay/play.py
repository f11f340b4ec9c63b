"""Plays games until enough are finished, with an evaluator of the core or one in Python."""

from collections.abc import Iterator
from typing import Unpack

from zerofleet import _core
from zerofleet.games import Game
from zerofleet.search import Evaluate
from zerofleet.search.evaluate import evaluate_checked
from zerofleet.selfplay.settings import SelfPlaySettings

PATIENCE_S = 0.2
"""How long one wait in the core may take, so that Ctrl-C gets through."""


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
    """Yields finished games, each as the bytes of an episode.

    The evaluator is one of the core by name, or a callable that gets observations [B, bytes] and
    gives policy_logits [B, actions] and outcomes [B, outcomes], float32, as in zf.search.analyse.
    While one group's batch is with it, the threads search the others. With num_threads=0 everything
    runs in the caller's thread, in lock-step, as a game written in Python needs it. Each game
    depends on the seed, its number and the evaluations alone.

    Games explore as in training: `settings` has the defaults of a run's search and selfplay
    sections; see SelfPlaySettings.
    """
    named = evaluator if isinstance(evaluator, str) else None
    driver = _core.SelfPlay(
        game, dict(settings), num_groups, games_per_group, num_threads, named, seed, worker
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
