"""Reviews a finished game: what each turn lost.

A turn is a player's consecutive actions until the opponent, chance or the end of the game. Its loss
is the value of the best turn that a search finds minus the value of the turn played, both in the
mover's view: each is a search of the resulting position, with the same budget. With hidden
information such a search would know what the mover did not. There each action is judged by its
value in the search of the mover's own information set.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from zerofleet._core import CHANCE, OVER
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.games import Game, GameRecord, Position
from zerofleet.search import Analysis, SearchSettings

MARKS = (("??", 0.3), ("?", 0.2), ("?!", 0.1))
"""Annotations and the minimum loss of each, as a fraction of a plain win."""

FLAT_PRIORS: SearchSettings = {"dirichlet_epsilon": 0.5, "dirichlet_alpha": 1e6}
"""Mixes the root priors half and half with the uniform distribution (Dirichlet noise of this
concentration is flat), so that the search visits every action."""

POSITIONS_PER_BATCH = 16
"""Positions per batch of searches; progress is reported after each."""

OnProgress = Callable[[str, int, int], None]
"""Called with the stage, the number of positions done, and the total."""


@dataclass(frozen=True)
class PlayedTurn:
    """One turn of the game."""

    ply: int
    """Actions and rolls before it."""
    start: Position
    actions: tuple[int, ...]
    after: Position
    roll: str
    """The text of the chance outcome right before it; else empty."""
    has_choice: bool

    @property
    def player(self) -> int:
        return self.start.to_move


@dataclass(frozen=True)
class Verdict:
    """The judgement of a turn. Values are expected rewards in the mover's view."""

    turn: PlayedTurn
    value_to_move: float
    """The value of the best turn."""
    lost: float | None
    """The loss of the turn played; None if the search did not visit it."""
    better: tuple[int, ...]
    """The best turn if it differs, as far as the principal variation has it."""
    line: tuple[int, ...]
    """The rest of the principal variation, up to the first roll; empty with hidden information."""

    @property
    def points_lost(self) -> float | None:
        """The loss as a fraction of a plain win."""
        return None if self.lost is None else self.lost / plain_win(self.turn.start.game)

    @property
    def mark(self) -> str:
        for mark, least in MARKS:
            if self.points_lost is not None and self.points_lost >= least:
                return mark
        return ""


@dataclass(frozen=True)
class Review:
    """The verdicts on all turns with a choice."""

    record: GameRecord
    searched_by: str
    verdicts: list[Verdict]

    def of(self, player: int) -> list[Verdict]:
        return [verdict for verdict in self.verdicts if verdict.turn.player == player]


def review(
    record: GameRecord,
    player: SearchPlayer,
    seed: int = 1,
    on_progress: OnProgress = lambda what, num_done, num_all: None,
) -> Review:
    """Judges every turn that had a choice."""
    turns = [turn for turn in turns_of(record) if turn.has_choice]
    starts = [turn.start for turn in turns]

    def analyse_starts(settings: SearchSettings) -> list[Analysis]:
        return analyse_all(player, starts, seed, partial(on_progress, "turns"), settings)

    if record.game.hidden:
        verdicts = judged_by_values(turns, analyse_starts(FLAT_PRIORS))
    else:
        verdicts = judged_by_results(turns, analyse_starts({}), player, seed, on_progress)
    return Review(record, player.name, verdicts)


def plain_win(game: Game) -> float:
    """The smallest reward of a win: 1 in all built-in games."""
    return min(outcome.reward for outcome in game.outcomes if outcome.reward > 0)


def turns_of(record: GameRecord) -> list[PlayedTurn]:
    """The turns of a game; with hidden information, each action is a turn."""
    positions = record.positions()
    found: list[PlayedTurn] = []
    roll, first = "", 0
    for ply, action in enumerate(record.actions):
        position, after = positions[ply], positions[ply + 1]
        if position.to_move == CHANCE:
            roll, first = position.action_text(action), ply + 1
            continue
        if after.to_move == position.to_move and not record.game.hidden:
            continue
        in_turn = positions[first : ply + 1]
        found.append(
            PlayedTurn(
                ply=first,
                start=positions[first],
                actions=record.actions[first : ply + 1],
                after=after,
                roll=roll,
                has_choice=any(len(each.legal_actions()) > 1 for each in in_turn),
            )
        )
        roll, first = "", ply + 1
    return found


def analyse_all(
    player: SearchPlayer,
    positions: Sequence[Position],
    seed: int,
    on_progress: Callable[[int, int], None],
    settings: SearchSettings,
) -> list[Analysis]:
    found: list[Analysis] = []
    for at in range(0, len(positions), POSITIONS_PER_BATCH):
        on_progress(at, len(positions))
        some = positions[at : at + POSITIONS_PER_BATCH]
        found += player.analyse_many(some, [seed] * len(some), **settings)
    on_progress(len(positions), len(positions))
    return found


# ---- hidden information


def judged_by_values(turns: list[PlayedTurn], starts: list[Analysis]) -> list[Verdict]:
    """Judges by the action values of one search of the mover's information set."""
    verdicts = []
    for turn, found in zip(turns, starts, strict=True):
        values = found.values_to_move
        (played,) = turn.actions
        best = found.best_action
        lost = max(0.0, values[best] - values[played]) if played in values else None
        better = (best,) if best != played else ()
        verdicts.append(Verdict(turn, values[best], lost, better, ()))
    return verdicts


# ---- perfect information


def judged_by_results(
    turns: list[PlayedTurn],
    starts: list[Analysis],
    player: SearchPlayer,
    seed: int,
    on_progress: OnProgress,
) -> list[Verdict]:
    """Judges by a search of the position after the turn, and of that after the best turn."""
    best_turns = [best_turn(found) for found in starts]
    compared = [
        position
        for turn, (_, after_best) in zip(turns, best_turns, strict=True)
        if after_best != turn.after
        for position in (turn.after, after_best)
    ]
    values = iter(values_first_player(compared, player, seed, on_progress))
    verdicts = []
    for turn, found, (best, after_best) in zip(turns, starts, best_turns, strict=True):
        line = tuple(found.principal_variation[len(best) :])
        if after_best == turn.after:
            verdicts.append(Verdict(turn, found.value_to_move, 0.0, (), line))
            continue
        sign = 1 if turn.player == 0 else -1
        value_played, value_best = sign * next(values), sign * next(values)
        if value_best > value_played:
            lost = value_best - value_played
            verdicts.append(Verdict(turn, value_best, lost, best, line))
        else:  # the deeper search finds the turn played as good
            verdicts.append(Verdict(turn, value_played, 0.0, (), ()))
    return verdicts


def best_turn(found: Analysis) -> tuple[tuple[int, ...], Position]:
    """The mover's part of the principal variation, and the resulting position."""
    after = found.position.copy()
    actions: list[int] = []
    for action in found.principal_variation:
        if after.to_move != found.position.to_move:
            break
        after.play(action)
        actions.append(action)
    return tuple(actions), after


def values_first_player(
    positions: list[Position], player: SearchPlayer, seed: int, on_progress: OnProgress
) -> list[float]:
    """The value of each position for player 0; the reward where the game is over."""
    still_open = [position for position in positions if position.to_move != OVER]
    on_positions = partial(on_progress, "alternatives")
    found = iter(analyse_all(player, still_open, seed, on_positions, {}))
    values = []
    for position in positions:
        if position.to_move == OVER:
            values.append(position.rewards()[0])
            continue
        seen_by = position.roller if position.to_move == CHANCE else position.to_move
        value = next(found).value_to_move
        values.append(value if seen_by == 0 else -value)
    return values
