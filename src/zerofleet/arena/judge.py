"""Error rate in backgammon: the mean equity that a player's decisions lose, as GnuBG reports it.

A decision is a whole turn that can end in more than one position; forced turns do not count. Its
loss is the difference in equity (cubeless money play without the Jacoby rule) between GnuBG's best
move and the move played, both evaluated at the judge's plies. Where GnuBG evaluates the move played
above its own choice, because its move filter dropped it, the loss is 0.

Decisions are sampled from self-play games of the player. For scale, at 2 plies: GnuBG 0-ply scores
1 to 2, a random player above 100.
"""

import math
import random
from collections import defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from itertools import count
from queue import SimpleQueue

from zerofleet._core import CHANCE
from zerofleet.arena.gnubg import Gnubg
from zerofleet.arena.pairs import PairedGame, ask
from zerofleet.arena.player import Player
from zerofleet.arena.statistics import Z_95, Estimate
from zerofleet.arena.turns import Turn
from zerofleet.cores import num_cores
from zerofleet.errors import BadText
from zerofleet.games import Game, Position, get
from zerofleet.games.record import turn_text

EQUITY_SCALE = 500
"""The error rate is the mean equity loss times this, the usual scale in backgammon."""

DECISIONS_PER_GAME = 20
"""Decisions judged per game, of about 40. Decisions of one game are correlated, so a sample over
more games has a smaller interval."""

MIN_GAMES = 8

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the number done, and the total."""


@dataclass(frozen=True)
class Decision:
    """A turn with a choice, and the one played."""

    game_number: int
    position: Position
    """After the roll."""
    chosen: Turn


@dataclass(frozen=True)
class JudgedDecision:
    """A decision as text, and its loss."""

    game_number: int
    position: str
    chosen: str
    best: str
    equity_lost: float


@dataclass(frozen=True)
class Judgement:
    """The judged decisions, in game order."""

    player: str
    plies: int
    seed: int
    decisions: Sequence[JudgedDecision] = field(repr=False)

    @property
    def error(self) -> Estimate:
        """EQUITY_SCALE times the mean equity loss. The interval is clustered by game."""
        lost_by_game: dict[int, list[float]] = defaultdict(list)
        for decision in self.decisions:
            lost_by_game[decision.game_number].append(decision.equity_lost)
        games = list(lost_by_game.values())
        mean = sum(map(sum, games)) / len(self.decisions)
        squares = sum((sum(lost) - mean * len(lost)) ** 2 for lost in games)
        variance = squares * len(games) / max(len(games) - 1, 1) / len(self.decisions) ** 2
        half_width = Z_95 * math.sqrt(variance)
        return Estimate(
            mean=EQUITY_SCALE * mean,
            low=EQUITY_SCALE * max(mean - half_width, 0.0),
            high=EQUITY_SCALE * (mean + half_width),
        )

    def worst(self, num_decisions: int) -> list[JudgedDecision]:
        """The decisions with the largest loss, worst first; only those with a loss."""
        lost = [decision for decision in self.decisions if decision.equity_lost > 0]
        return sorted(lost, key=lambda decision: -decision.equity_lost)[:num_decisions]

    def __str__(self) -> str:
        error = self.error
        num_games = len({decision.game_number for decision in self.decisions})
        return (
            f"{self.player}: error per decision {error.mean:.2f} "
            f"(95 % interval {error.low:.2f} to {error.high:.2f})\n"
            f"{EQUITY_SCALE} * mean equity loss; judge: GnuBG {self.plies}-ply\n"
            f"{len(self.decisions)} decisions of {num_games} self-play games, seed {self.seed}"
        )


def judge(
    player: Player,
    num_decisions: int = 1000,
    plies: int = 2,
    seed: int = 1,
    num_processes: int | None = None,
    on_progress: OnProgress = lambda what, num_done, num_all: None,
) -> Judgement:
    """Judges a sample of a player's decisions. GnuBG runs in `num_processes` (one per core)."""
    if num_decisions < 1:
        raise BadText(f"num_decisions must be at least 1, got {num_decisions}")
    num_processes = num_processes or num_cores()
    with ExitStack() as opened:
        free: SimpleQueue[Gnubg] = SimpleQueue()
        for _ in range(num_processes):
            free.put(opened.enter_context(closing(Gnubg(plies))))
        drawn = draw_decisions(player, num_decisions, seed, on_progress)

        def judged(decision: Decision) -> JudgedDecision:
            gnubg = free.get()
            try:
                return judge_decision(gnubg, decision)
            finally:
                free.put(gnubg)

        decisions = []
        with ThreadPoolExecutor(num_processes) as threads:
            for decision in threads.map(judged, drawn):
                decisions.append(decision)
                on_progress("decisions judged", len(decisions), num_decisions)
    return Judgement(player.name, plies, seed, decisions)


def judge_decision(gnubg: Gnubg, decision: Decision) -> JudgedDecision:
    """GnuBG's best move, and the loss of the move played."""
    position, chosen = decision.position, decision.chosen
    best = gnubg.turn(position)
    equity_lost = 0.0
    if best.actions != chosen.actions:
        mover = position.to_move
        equity_lost = gnubg.equity_after(best, mover) - gnubg.equity_after(chosen, mover)
    if equity_lost <= 0:
        best, equity_lost = chosen, 0.0
    return JudgedDecision(
        game_number=decision.game_number,
        position=position.to_text(),
        chosen=turn_text(position, chosen.actions),
        best=turn_text(position, best.actions),
        equity_lost=equity_lost,
    )


# ---- the sample


def draw_decisions(
    player: Player, num_decisions: int, seed: int, on_progress: OnProgress
) -> list[Decision]:
    """A sample of the player's decisions in self-play games."""
    game = get("backgammon")
    num_games = max(num_decisions // DECISIONS_PER_GAME, MIN_GAMES)
    found: list[Decision] = []
    for first in count(step=num_games):
        games = [PairedGame(game, seed, first + number, 0, []) for number in range(num_games)]
        while in_flight := [each for each in games if each.in_progress]:
            on_progress("games played", num_games - len(in_flight), num_games)
            ask(player, in_flight)
        for each in games:
            found += decisions_of(game, each.pair, each.ids)
        if len(found) >= num_decisions:
            break
    chosen = sorted(random.Random(seed).sample(range(len(found)), num_decisions))
    return [found[number] for number in chosen]


def decisions_of(game: Game, game_number: int, ids: Sequence[int]) -> list[Decision]:
    """The decisions of a game, from its rolls and actions."""
    found = []
    position = game.new_position()
    rest = list(ids)
    while rest:
        start = position.copy()
        actions: list[int] = []
        while rest and (position.to_move == start.to_move or not actions):
            actions.append(rest.pop(0))
            position.play(actions[-1])
        if start.to_move != CHANCE and position.to_move != start.to_move and has_choice(start):
            found.append(Decision(game_number, start, Turn(tuple(actions), position.copy())))
    return found


def has_choice(position: Position) -> bool:
    """Whether the turn can end in more than one position.

    One sequence of actions leads to each, so two legal actions anywhere in the turn suffice.
    """
    at = position.copy()
    while at.to_move == position.to_move:
        action, *others = at.legal_actions()
        if others:
            return True
        at.play(action)
    return False
