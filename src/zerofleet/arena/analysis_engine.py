"""An analysis engine for other programs: one line of JSON in, one line of JSON out.

Requests are searched concurrently. Leaves of requests with the same weights share one batch, so
answers come in order of completion. An invalid request gets an error answer and affects no other.
docs/6-arena.md lists the fields.
"""

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from queue import Empty, Queue
from threading import Thread
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from zerofleet._core import CHANCE
from zerofleet.arena.players import (
    SearchText,
    analysis_player,
    load_evaluator,
    searching,
    with_budget,
)
from zerofleet.config import MAX_SEED, unknown_name
from zerofleet.errors import BadText, TooLarge, Unsupported, ZerofleetError
from zerofleet.games import Game, Position, get, names
from zerofleet.games.registry import as_utf8
from zerofleet.search import Analysis, CoreEvaluatorName, Evaluate, RunningSearch
from zerofleet.search.evaluate import evaluate_checked

MAX_LINE_BYTES = 1 << 20
MAX_EVALUATORS = 8
"""Networks kept loaded; the oldest is evicted first."""
TREE_BYTES = 4 << 30
"""Memory of all concurrent trees, in equal shares."""

Answer = dict[str, Any]


class Request(BaseModel):
    """One line: a position, and how to search it."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    id: str | int
    game: str | None = None
    options: dict[str, int | str] = {}
    position: str | None = None
    moves: list[str] = []
    """Played from `position`, or from the start; includes dice rolls."""
    player: str | None = None
    num_simulations: int | None = Field(None, ge=1)
    seconds: float | None = Field(None, gt=0)
    top: int | None = Field(None, ge=1)
    seed: int = Field(1, ge=0, le=MAX_SEED)


@dataclass(frozen=True)
class Defaults:
    """Values for fields that a request leaves out."""

    game: Game | None
    player: str | None
    """None: best where zerofleet ships weights for the game, else playout."""
    num_simulations: int | None
    seconds: float | None
    """Both budgets apply only where a request names neither player nor budget."""
    top: int


@dataclass(frozen=True)
class InFlight:
    """A request in search."""

    request: Request
    player: str
    position: Position
    evaluator: CoreEvaluatorName | Evaluate
    search: RunningSearch
    top: int

    def answer(self) -> Answer:
        (result,) = self.search.results()
        found = Analysis.of(self.position, result)
        game = self.position.game
        about = {"id": self.request.id, "game": game.name, "player": self.player}
        return {**about, **found.to_json(self.top)}


class AnalysisEngine:
    """Answers requests: at most `at_once` in search and as many queued."""

    def __init__(self, defaults: Defaults, at_once: int) -> None:
        self._defaults = defaults
        self._at_once = at_once
        self._in_flight: list[InFlight] = []
        self._evaluators: dict[str, CoreEvaluatorName | Evaluate] = {}

    def answers(self, lines: Iterable[bytes]) -> Iterator[Answer]:
        """Yields an answer to each line, until the lines end and all are answered.

        A thread reads the lines and blocks while the queue is full. Its read errors are raised
        here.
        """
        waiting: Queue[bytes | ZerofleetError | None] = Queue(self._at_once)

        def read() -> None:
            try:
                for line in lines:
                    waiting.put(line)
                waiting.put(None)
            except ZerofleetError as error:
                waiting.put(error)

        Thread(target=read, daemon=True).start()
        ended = False
        while not ended or self._in_flight:
            while not ended and len(self._in_flight) < self._at_once:
                try:
                    line = waiting.get(block=not self._in_flight)
                except Empty:
                    break
                if isinstance(line, ZerofleetError):
                    raise line
                if line is None:
                    ended = True
                elif line.strip():
                    yield from self._begin(line)
            yield from self._step()

    # ---- requests

    def _begin(self, line: bytes) -> Iterator[Answer]:
        """Starts the search that a line requests; yields an answer only on error."""
        name: object = None
        try:
            asked = parsed(line)
            name = asked.get("id")
            request = validated(asked)
            self._in_flight.append(self._search_of(request))
        except ZerofleetError as error:
            yield error_answer(name, error)

    def _search_of(self, request: Request) -> InFlight:
        game = self._game_of(request)
        position = position_of(request, game)
        player = self._player_of(request, game)
        text = searching(player)
        evaluator = self._evaluator_of(game, text)
        num_simulations, seconds = text.budget
        search = RunningSearch(
            [position],
            evaluator if isinstance(evaluator, str) else None,
            num_simulations,
            [request.seed],
            text.root,
            seconds,
            max_bytes=TREE_BYTES // self._at_once,
            use_endgame_solver=text.asks_solver(game),
        )
        top = request.top or self._defaults.top
        return InFlight(request, player, position, evaluator, search, top)

    def _player_of(self, request: Request, game: Game) -> str:
        named = request.player or self._defaults.player or analysis_player(game)
        budget = request.num_simulations, request.seconds
        if request.player is None and budget == (None, None):
            budget = self._defaults.num_simulations, self._defaults.seconds
        return with_budget(named, *budget)

    def _game_of(self, request: Request) -> Game:
        if request.game is None:
            if request.options:
                raise BadText("options go with game: name it too")
            if self._defaults.game is None:
                raise BadText("game is missing, and the command line names none")
            return self._defaults.game
        if request.game not in names():  # a request never loads code
            raise Unsupported(f"unknown game {request.game!r}; known: {', '.join(names())}")
        return get(request.game, **request.options)

    def _evaluator_of(self, game: Game, text: SearchText) -> CoreEvaluatorName | Evaluate:
        key = f"{game!r} {text.source}"
        if key not in self._evaluators:
            if len(self._evaluators) == MAX_EVALUATORS:
                del self._evaluators[next(iter(self._evaluators))]
            self._evaluators[key] = load_evaluator(game, text)
        return self._evaluators[key]

    # ---- searches

    def _step(self) -> Iterator[Answer]:
        """Advances every search by one batch of leaves; yields the answers of finished ones."""
        together: dict[int, list[InFlight]] = {}
        for each in self._in_flight:
            shares = each if isinstance(each.evaluator, str) else each.evaluator
            together.setdefault(id(shares), []).append(each)
        failed: dict[int, ZerofleetError] = {}
        for searches in together.values():
            try:
                advance(searches)
            except ZerofleetError as error:
                failed |= {id(each): error for each in searches}
        still_in_flight = []
        for each in self._in_flight:
            if id(each) in failed:
                yield error_answer(each.request.id, failed[id(each)])
            elif each.search.finished:
                yield each.answer()
            else:
                still_in_flight.append(each)
        self._in_flight = still_in_flight


def advance(searches: list[InFlight]) -> None:
    """Evaluates one batch of leaves of searches that share an evaluator."""
    evaluator = searches[0].evaluator
    leaves = [(each.search, each.search.gather()) for each in searches]
    if isinstance(evaluator, str):
        return
    leaves = [(search, rows) for search, rows in leaves if len(rows) > 0]
    if not leaves:
        return
    observations_BN = np.concatenate([rows for _, rows in leaves])
    game = searches[0].position.game
    logits_BA, outcomes_BO = evaluate_checked(evaluator, game, observations_BN)
    at = 0
    for search, rows in leaves:
        of_search = slice(at, at + len(rows))
        search.absorb(logits_BA[of_search], outcomes_BO[of_search])
        at += len(rows)


def position_of(request: Request, game: Game) -> Position:
    position = (
        game.new_position(request.seed)
        if request.position is None
        else game.from_text(as_utf8(request.position))
    )
    for move in map(as_utf8, request.moves):
        if position.to_move == CHANCE:
            position.play(position.action_from_text(move))
        else:
            game.play_from_text(position, move)
    return position


# ---- lines


def parsed(line: bytes) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise TooLarge(f"a line has at most {MAX_LINE_BYTES} bytes")
    try:
        asked = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadText(f"the line is not JSON: {error}") from None
    if not isinstance(asked, dict):
        raise BadText(f"a request is a JSON object, got {type(asked).__name__}")
    return asked


def validated(asked: dict[str, Any]) -> Request:
    for field in asked:
        if field not in Request.model_fields:
            raise BadText(unknown_name("field", field, list(Request.model_fields)))
    try:
        return Request.model_validate(asked)
    except ValidationError as error:
        faults = [(".".join(map(str, fault["loc"])), fault["msg"]) for fault in error.errors()]
        raise BadText("; ".join(f"{field}: {message}" for field, message in faults)) from None


def error_answer(name: object, error: ZerofleetError) -> Answer:
    """The error answer to a request; its code is the error's class, such as bad_text."""
    code = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(error).__name__).lower()
    return {
        "id": name if isinstance(name, (str, int)) else None,
        "error": {"code": code, "message": str(error)},
    }
