"""Searches for the pages: few at a time, each with bounds, and after everything else.

One pool of threads serves all pages. A search is bounded in simulations, time and memory of its
tree; more searches than the queue holds are refused. The threads run at the lowest priority where
the system has one per thread (Linux), so training in the same process or beside it goes first.
"""

import asyncio
import os
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

from zerofleet._core import CHANCE
from zerofleet.arena.player import Player
from zerofleet.arena.players import (
    HARD_BUDGET,
    NUM_PLAYOUTS,
    NUM_SIMULATIONS,
    Difficulty,
    SearchText,
    load_evaluator,
    player_maker,
)
from zerofleet.arena.search_players import PolicyPlayer
from zerofleet.cores import num_cores
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import Game, Position
from zerofleet.search import Analysis, CoreEvaluatorName, Evaluate, RunningSearch
from zerofleet.search.evaluate import evaluate_checked
from zerofleet.web.errors import busy
from zerofleet.web.games import Games, player_title
from zerofleet.web.play_schema import (
    MAX_SECONDS,
    MAX_SIMULATIONS,
    AnalysedAction,
    AnalysisAnswer,
    AnalysisRequest,
)
from zerofleet.web.seen import meaning, mover_of

MAX_THREADS = 2
MAX_WAITING = 16
"""Searches that run or wait; more are refused."""
MAX_TREE_BYTES = 128 << 20
MAX_EVALUATORS = 6
"""Networks kept loaded; the one that was used longest ago goes first."""
LOWEST_PRIORITY = 19

Result = TypeVar("Result")


@dataclass(frozen=True)
class Strength:
    """A player and its budget for one decision."""

    text: str
    num_simulations: int | None
    seconds: float | None
    difficulty: Difficulty | None = None

    @property
    def searches(self) -> bool:
        return SearchText.of(self.text) is not None

    @property
    def asks_solver(self) -> bool:
        return self.difficulty in ("medium", "hard")

    @staticmethod
    def of(
        text: str,
        num_simulations: int | None,
        seconds: float | None,
        difficulty: Difficulty | None = None,
    ) -> "Strength":
        """With the player's default where no budget is given; hard has more, within all bounds."""
        named = SearchText.of(text)
        if num_simulations is not None and seconds is not None:
            raise BadText("give num_simulations or seconds, not both")
        if named is None:
            if num_simulations is not None or seconds is not None:
                raise Unsupported(f"player {text!r} does not search, so it takes no budget")
            if difficulty is not None:
                raise Unsupported(f"player {text!r} does not search, so it takes no difficulty")
            return Strength(text, None, None)
        if num_simulations is None and seconds is None:
            num_simulations = NUM_PLAYOUTS if text == "playout" else NUM_SIMULATIONS
        if num_simulations == 0 and text == "playout":
            raise BadText("player 'playout': num_simulations must be at least 1")
        if num_simulations == 0 and difficulty is not None:
            raise BadText("num_simulations 0 does not search, so it takes no difficulty")
        if difficulty == "hard":
            if num_simulations is not None:
                num_simulations = min(num_simulations * HARD_BUDGET, MAX_SIMULATIONS)
            if seconds is not None:
                seconds = min(seconds * HARD_BUDGET, MAX_SECONDS)
        return Strength(text, num_simulations, seconds, difficulty)


class Searches:
    """The pool, and the networks that are loaded."""

    def __init__(self, games: Games) -> None:
        self._games = games
        self._pool = ThreadPoolExecutor(
            min(MAX_THREADS, num_cores()), "search", initializer=run_last
        )
        self._lock = threading.Lock()
        self._num_waiting = 0
        self._evaluators: OrderedDict[str, CoreEvaluatorName | Evaluate] = OrderedDict()

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    # ---- asking

    async def analyse(
        self, position: Position, asked: AnalysisRequest, default: str | None = None
    ) -> AnalysisAnswer:
        """Searches a position; `default` searches where the request names nobody."""
        game = position.game
        text = self._games.pinned(game, asked.player or default or self._games.analyst(game))
        strength = Strength.of(text, asked.num_simulations, asked.seconds)
        if not strength.searches:
            raise Unsupported(
                f"player {text!r} does not search, so it cannot analyse; players that search: "
                "playout, best, run:NAME"
            )
        found = await self.run(lambda: self.search(position, strength, asks_solver=True))
        return analysis_answer(found, text)

    async def run(self, work: Callable[[], Result]) -> Result:
        """Runs something in the pool, or refuses it where too much waits."""
        with self._lock:
            if self._num_waiting >= MAX_WAITING:
                raise busy(f"{MAX_WAITING} searches run or wait already; try again in a moment")
            self._num_waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        finally:
            with self._lock:
                self._num_waiting -= 1

    # ---- in the pool

    def choose(self, position: Position, strength: Strength, seed: int) -> int:
        """An agent's action."""
        legal = position.legal_actions()
        if len(legal) == 1:
            return legal[0]
        if strength.searches and strength.num_simulations != 0:
            return self.search(position, strength, seed).best_action
        with self._player(position.game, strength) as player:
            return player.choose(position, seed)

    def search(
        self, position: Position, strength: Strength, seed: int = 1, asks_solver: bool = False
    ) -> Analysis:
        """A search within all bounds. One that asks the solver does so where the game has one."""
        evaluator = self._evaluator(position.game, strength.text)
        running = RunningSearch(
            [position],
            evaluator if isinstance(evaluator, str) else None,
            strength.num_simulations,
            [seed],
            "puct",
            strength.seconds,
            max_bytes=MAX_TREE_BYTES,
            use_endgame_solver=(asks_solver or strength.asks_solver) and position.game.has_solver,
        )
        end_s = time.monotonic() + MAX_SECONDS
        while not running.finished:
            if time.monotonic() > end_s:
                running.stop()
            leaves = running.gather()
            if not isinstance(evaluator, str) and len(leaves) > 0:
                running.absorb(*evaluate_checked(evaluator, position.game, leaves))
        return Analysis.of(position, running.results()[0])

    def _player(self, game: Game, strength: Strength) -> Player:
        if strength.searches:
            evaluator = self._evaluator(game, strength.text)
            assert not isinstance(evaluator, str)
            return PolicyPlayer(strength.text, evaluator)
        return player_maker(game, strength.text)()

    def _evaluator(self, game: Game, text: str) -> CoreEvaluatorName | Evaluate:
        named = SearchText.of(text)
        assert named is not None
        key = f"{game!r} {text}"
        with self._lock:
            if key in self._evaluators:
                self._evaluators.move_to_end(key)
                return self._evaluators[key]
        loaded = load_evaluator(game, named, "cpu")
        with self._lock:
            self._evaluators[key] = loaded
            while len(self._evaluators) > MAX_EVALUATORS:
                self._evaluators.popitem(last=False)
        return loaded


def run_last() -> None:
    """Gives this thread the lowest priority, where threads have one of their own."""
    with suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), LOWEST_PRIORITY)


def analysis_answer(found: Analysis, player: str) -> AnalysisAnswer:
    position = found.position
    is_chance = position.to_move == CHANCE
    line = found.line()
    return AnalysisAnswer(
        player=player,
        player_title=player_title(player),
        to_move=mover_of(position),
        actions=[
            AnalysedAction(
                action=action,
                text=position.action_text(action),
                meaning="" if is_chance else meaning(position, action),
                visits=found.visits[action],
                value_to_move=found.values_to_move.get(action),
                prior=found.priors[action],
                policy=found.policy[action],
            )
            for action in found.ranked_actions()
        ],
        outcomes_to_move=found.outcomes_to_move,
        # What follows the first action is of sampled hands, which tells a reader nothing.
        principal_variation=line[:1] if position.game.hidden else line,
        value_to_move=found.value_to_move,
        num_simulations=found.num_simulations,
        depth=found.depth,
        is_solved=found.solved,
        proof=found.proof(),
        plies_to_end=found.plies_to_end,
    )
