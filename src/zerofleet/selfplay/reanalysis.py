"""Reanalysis: stored games are searched again with the newest weights (MuZero Reanalyze).

One thread beside the workers, with an evaluator of its own. It takes games from the replay buffer
and replaces their targets there. It may search so many that they are the wanted share of all
searched games, and waits for new games where it is ahead; where the machine is too slow for that it
falls behind, and no new game waits for it.
"""

import random
import threading
import time
from collections.abc import Callable, Mapping

from zerofleet import _core
from zerofleet.games import Game
from zerofleet.infer import Evaluator, Pipeline
from zerofleet.infer.evaluator import lockstep
from zerofleet.replay import Replay
from zerofleet.selfplay.worker import OnFault, WeightsFeed

GAMES_AT_ONCE = 16
"""All their searches are done concurrently: a batch has a leaf of each."""
POLL_S = 0.02


class Reanalyser:
    """Searches games of a replay again until it is stopped."""

    def __init__(
        self,
        replay: Replay,
        game: Game,
        settings: Mapping[str, object],
        seed: int,
        share: float,
        evaluator: Evaluator,
        feed: WeightsFeed,
        is_stopping: Callable[[], bool],
        on_fault: OnFault,
    ) -> None:
        """`settings` and `seed` are those of self-play."""
        self._replay = replay
        self._game = game
        self._settings = dict(settings)
        self._seed = seed
        self._games_per_new_game = share / (1 - share)
        self._evaluator = evaluator
        self._pipeline: Pipeline = lockstep(evaluator)
        self._feed = feed
        self._is_stopping = is_stopping
        self._on_fault = on_fault
        self._rng = random.Random(seed)
        self._num_before = replay.log.position.num_episodes
        self._thread = threading.Thread(target=self._run_guarded, name="reanalysis", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def join(self) -> None:
        self._thread.join()

    def _run_guarded(self) -> None:
        try:
            while not self._is_stopping():
                if self._is_due():
                    self._search_some()
                else:
                    time.sleep(POLL_S)
        except BaseException as fault:
            self._on_fault(fault)

    def _is_due(self) -> bool:
        num_new = self._replay.log.position.num_episodes - self._num_before
        num_due = num_new * self._games_per_new_game - self._replay.reanalysed.num_games
        return num_due >= GAMES_AT_ONCE

    def _search_some(self) -> None:
        start_s = time.perf_counter()
        self._feed.load_newest(self._pipeline)
        games = self._replay.sample_episodes(GAMES_AT_ONCE, self._rng)
        searched = self.searched_again([each.data for each in games])
        if searched is not None:
            self._replay.replace(games, searched)
        self._replay.reanalysed.search_s += time.perf_counter() - start_s

    def searched_again(self, episodes: list[bytes]) -> list[bytes] | None:
        """The same games with the results of new searches; None if the run stops meanwhile."""
        again = _core.Reanalysis(
            self._game, self._settings, None, self._seed, self._evaluator.version, episodes
        )
        while not again.finished:
            if self._is_stopping():
                return None
            observations_BN = again.gather()
            if len(observations_BN):
                again.absorb(*self._evaluator(observations_BN))
        return again.episodes()
