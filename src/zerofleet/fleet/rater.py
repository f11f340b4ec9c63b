"""The rater role: measures the strength of weights by matches against fixed opponents.

While a run trains, a background thread rates the weights of a checkpoint; the final rating runs in
the caller's thread. Each result is a metrics record of kind "rating" and is also stored beside its
weights.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from zerofleet import arena
from zerofleet.arena.players import player_maker
from zerofleet.arena.ratings import START
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.config import Config
from zerofleet.fleet.screen import Screen
from zerofleet.games import Game
from zerofleet.infer import Evaluator
from zerofleet.metrics import MetricsLog, Value
from zerofleet.runs.folder import Run
from zerofleet.storage import Disk
from zerofleet.weights import WeightsStore


class Interrupted(Exception):
    """A match was abandoned because the run stops."""


@dataclass(kw_only=True)
class Rater:
    """Rates weights against the configured opponents, whose networks run on `device` too."""

    run: Run
    game: Game
    config: Config
    evaluator: Evaluator
    """Evaluates for the rated weights; not shared."""
    device: str
    weights: WeightsStore
    metrics: MetricsLog
    disk: Disk
    screen: Screen
    started_s: float
    on_fault: Callable[[BaseException], None]

    def __post_init__(self) -> None:
        self._rated_at_s = self.started_s
        self._thread: threading.Thread | None = None
        self._is_interrupted = False
        # Create all players now: an unknown one is rejected before hours of training, and torch
        # cannot export or capture a network while another thread trains one.
        self._opponents = {text: self._maker_of(text) for text in self._known_opponents()}

    def is_due(self) -> bool:
        """Whether the interval has passed and no rating is in flight."""
        settings = self.config.rating
        if not (settings.interval_minutes and settings.games and settings.opponents):
            return False
        waited_min = (time.monotonic() - self._rated_at_s) / 60
        return waited_min >= settings.interval_minutes and not (
            self._thread and self._thread.is_alive()
        )

    def start(self, version: int, state: dict[str, Any]) -> None:
        """Rates weights in a background thread."""
        self._rated_at_s = time.monotonic()
        self.disk.write(lambda: self.weights.keep(version))
        self._thread = threading.Thread(
            target=self._rate_guarded, args=(version, state), name="rater", daemon=True
        )
        self._thread.start()

    def interrupt(self) -> None:
        """Abandons the match in flight, in any thread. Safe in a signal handler."""
        self._is_interrupted = True

    def join(self) -> None:
        """Waits for the background thread; then the rater is ready for another rating."""
        if self._thread is not None:
            self._thread.join()
        self._is_interrupted = False

    def rate(
        self,
        version: int,
        state: dict[str, Any],
        num_games: int,
        num_threads: int | None = None,
    ) -> None:
        """Plays every opponent. An interrupt keeps the results so far."""
        self.disk.write(lambda: self.weights.keep(version))
        evaluator = self.evaluator
        evaluator.load(state, version)
        name = f"step {version}"
        for opponent, make_opponent in self._opponents.items():
            try:
                found = arena.match(
                    self.game,
                    lambda: SearchPlayer(name, evaluator, self.config.rating.simulations),
                    make_opponent,
                    num_games=num_games,
                    seed=self.config.run.seed + version,
                    num_threads=num_threads,
                    on_progress=self._progress_of(version, opponent),
                )
            except Interrupted:
                break
            finally:
                self.screen.show_doing("")
            low, high = found.interval
            result: dict[str, Value] = {
                "opponent": opponent,
                "games": found.num_games,
                "score": found.score,
                "low": low,
                "high": high,
                "points": found.points.mean,
                "pairs": found.pair_counts,
                "simulations": self.config.rating.simulations,
                "elapsed_s": round(time.monotonic() - self.started_s, 1),
            }
            self.metrics.append("rating", version, result)
            self.disk.write(partial(self.weights.add_rating, version, result))

    def _rate_guarded(self, version: int, state: dict[str, Any]) -> None:
        try:
            self.rate(version, state, self.config.rating.games, num_threads=1)
        except BaseException as fault:
            self.on_fault(fault)

    def _known_opponents(self) -> list[str]:
        """The configured opponents, without `start` if the weights of step 0 are gone."""
        opponents = list(dict.fromkeys(self.config.rating.opponents))
        if START in opponents and 0 not in self.weights.versions():
            self.screen.say(f"ratings skip {START}: the weights of step 0 are gone")
            opponents.remove(START)
        return opponents

    def _maker_of(self, opponent: str) -> Callable[[], arena.Player]:
        if opponent == START:
            opponent = f"run:{self.run.name}@0,sims={self.config.rating.simulations}"
        return player_maker(self.game, opponent, self.device)

    def _progress_of(self, version: int, opponent: str) -> Callable[[int, int], None]:
        def show(num_done: int, num_games: int) -> None:
            if self._is_interrupted:
                raise Interrupted
            self.screen.show_doing(
                f"rating step {version:,} against {opponent}: {num_done} of {num_games} games"
            )

        return show
