"""Ratings of a run: matches of its weights against fixed opponents.

While a run trains, a background thread rates the weights of a checkpoint; the final rating runs in
the caller's thread. Each result is a metrics record of kind "rating" and is also stored beside its
weights. `OwnMatches` plays in this process; zerofleet.fleet.rating_blocks has raters play.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from zerofleet import arena
from zerofleet.arena import Match
from zerofleet.arena.players import player_maker
from zerofleet.arena.ratings import FROZEN, START
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.config import Config
from zerofleet.fleet.opponents import frozen_player
from zerofleet.fleet.screen import Screen
from zerofleet.games import Game
from zerofleet.infer import Evaluator
from zerofleet.metrics import MetricsLog, Value
from zerofleet.runs.folder import Run
from zerofleet.storage import Disk
from zerofleet.weights import WeightsStore

OnGames = Callable[[int, str, int, int], None]
"""Called with the rated step, an opponent, the number of finished games and of all games. Raises
Interrupted."""

Results = Iterator[tuple[int, str, Match]]
"""Rated step, opponent and match, as matches finish."""


class Interrupted(Exception):
    """A rating was abandoned because the run stops, or another took its place."""


@dataclass(frozen=True)
class Rating:
    """Weights to rate. They are in the run folder too, under their step."""

    step: int
    state: dict[str, Any]
    num_games: int
    """Against each opponent."""
    in_background: bool
    """While the run trains."""


class Matches(Protocol):
    """Who plays the games of ratings, one rating at a time."""

    def play(self, rating: Rating, on_games: OnGames) -> Results:
        """Plays every opponent."""

    def resume(self, on_games: OnGames) -> Results:
        """Finishes what an earlier session of the run left unfinished."""

    def is_stalled(self, after_s: float) -> bool:
        """Whether nothing was played for so long that another rating should take the place."""


@dataclass(kw_only=True)
class Rater:
    """Rates weights when they are due, and records the results."""

    matches: Matches
    config: Config
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
        self.last_step = 0
        """The step that was rated last in this session."""
        self.last_scores: dict[str, float] = {}
        """The last score of this session against each opponent."""

    def is_due(self) -> bool:
        """Whether the interval has passed and no rating is in flight, or only a stalled one."""
        settings = self.config.rating
        if not (settings.interval_minutes and settings.games and settings.opponents):
            return False
        interval_s = 60 * settings.interval_minutes
        if time.monotonic() - self._rated_at_s < interval_s:
            return False
        in_flight = self._thread is not None and self._thread.is_alive()
        return not in_flight or self.matches.is_stalled(interval_s)

    def start(self, step: int, state: dict[str, Any]) -> None:
        """Rates weights in a background thread. A stalled rating is given up."""
        self.interrupt()
        self.join()
        self._rated_at_s = time.monotonic()
        self._start(
            partial(self._rate, Rating(step, state, self.config.rating.games, in_background=True))
        )

    def resume(self) -> None:
        """Finishes in a background thread what an earlier session left unfinished."""
        self._start(lambda: self._record_all(self.matches.resume(self._show)))

    def rate(self, step: int, state: dict[str, Any], num_games: int) -> None:
        """Plays every opponent. An interrupt keeps the results so far."""
        self._rate(Rating(step, state, num_games, in_background=False))

    def interrupt(self) -> None:
        """Abandons the matches in flight, in any thread. Safe in a signal handler."""
        self._is_interrupted = True

    def join(self) -> None:
        """Waits for the background thread; then the rater is ready for another rating."""
        if self._thread is not None:
            self._thread.join()
        self._is_interrupted = False

    def _start(self, work: Callable[[], None]) -> None:
        def guarded() -> None:
            try:
                work()
            except BaseException as fault:
                self.on_fault(fault)

        self._thread = threading.Thread(target=guarded, name="rater", daemon=True)
        self._thread.start()

    def _rate(self, rating: Rating) -> None:
        self.disk.write(lambda: self.weights.keep(rating.step))
        self._record_all(self.matches.play(rating, self._show))

    def _record_all(self, results: Results) -> None:
        try:
            for step, opponent, found in results:
                self._record(step, opponent, found)
        except Interrupted:
            return
        finally:
            self.screen.show_doing("")

    def _record(self, step: int, opponent: str, found: Match) -> None:
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
        self.last_step, self.last_scores = step, self.last_scores | {opponent: found.score}
        self.metrics.append("rating", step, result)
        self.disk.write(lambda: self.weights.add_rating(step, result))

    def _show(self, step: int, opponent: str, num_done: int, num_games: int) -> None:
        if self._is_interrupted:
            raise Interrupted
        self.screen.show_doing(
            f"rating step {step:,} against {opponent}: {num_done} of {num_games} games"
        )


class OwnMatches:
    """Plays in this process: all blocks of a match, one after another or in threads."""

    def __init__(
        self,
        run: Run,
        game: Game,
        config: Config,
        evaluator: Evaluator,
        device: str,
        opponents: Sequence[str],
    ) -> None:
        """`evaluator` is for the rated weights and not shared; opponents' networks run on `device`
        too."""
        self._game = game
        self._settings = config.rating
        self._seed = config.run.seed
        self._num_threads = config.run.num_threads or None
        self._evaluator = evaluator
        names = {START: f"run:{run.name}@0,sims={self._settings.simulations}"}
        if FROZEN in opponents:
            names[FROZEN] = frozen_player(run, config)
        # Create all players now: an unknown one is rejected before hours of training, and torch
        # cannot export or capture a network while another thread trains one.
        self._opponents = {
            text: player_maker(game, names.get(text, text), device) for text in opponents
        }

    def play(self, rating: Rating, on_games: OnGames) -> Results:
        self._evaluator.load(rating.state, rating.step)
        name = f"step {rating.step}"
        for opponent, make_opponent in self._opponents.items():
            found = arena.match(
                self._game,
                lambda: SearchPlayer(name, self._evaluator, self._settings.simulations),
                make_opponent,
                num_games=rating.num_games,
                seed=match_seed(self._seed, rating.step),
                num_threads=1 if rating.in_background else self._num_threads,
                on_progress=partial(on_games, rating.step, opponent),
            )
            yield rating.step, opponent, found

    def resume(self, on_games: OnGames) -> Results:
        """Nothing: whoever interrupts a rating in this process abandons it."""
        return iter(())

    def is_stalled(self, after_s: float) -> bool:
        return False


def match_seed(run_seed: int, step: int) -> int:
    """The seed of the matches that rate the weights of a step."""
    return run_seed + step


def known_opponents(config: Config, weights: WeightsStore, say: Callable[[str], None]) -> list[str]:
    """The configured opponents, without `start` if the weights of step 0 are gone."""
    opponents = list(dict.fromkeys(config.rating.opponents))
    if START in opponents and 0 not in weights.versions():
        say(f"ratings skip {START}: the weights of step 0 are gone")
        opponents.remove(START)
    return opponents
