"""Goes through a game that was played and says what each turn has cost.

A turn is all that a player does until the other player, chance or the end of the game is next. What
it lost is the value of the best turn that a search finds, less that of the turn played, both in the
mover's view: each is a search of the position that the turn leads to, with the same budget. Where
something is hidden, such a search would know what the mover did not, so there each action counts
for itself, by what the search of the mover's own position says of it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from zerofleet._core import CHANCE, OVER
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.games import Game, GameRecord, Position
from zerofleet.search import Analysis, SearchSettings

MARKS = (("??", 0.3), ("?", 0.2), ("?!", 0.1))
"""What a turn has lost at least to be marked so: a share of what a plain win is worth."""

EVEN_LOOK: SearchSettings = {"dirichlet_epsilon": 0.5, "dirichlet_alpha": 1e6}
"""Half of a root's priors spread evenly: noise of that concentration is flat. So a search looks at
every action, also at those that the network thinks nothing of."""

POSITIONS_AT_ONCE = 16
"""Searched together; between them progress is reported."""

OnProgress = Callable[[str, int, int], None]
"""Called with what is searched, how many positions are done, and of how many."""


@dataclass(frozen=True)
class PlayedTurn:
    """What a player did in a row."""

    ply: int
    """Actions and rolls before it."""
    start: Position
    actions: tuple[int, ...]
    after: Position
    roll: str
    """The chance outcome right before it, as people write it; else empty."""
    has_choice: bool

    @property
    def player(self) -> int:
        return self.start.to_move


@dataclass(frozen=True)
class Verdict:
    """A turn, and what a search thinks of it. Values are expected rewards in the mover's view."""

    turn: PlayedTurn
    value_to_move: float
    """Of the best turn."""
    lost: float | None
    """What the turn played is worth less; None where the search has not looked at it."""
    better: tuple[int, ...]
    """The best turn where it is another, as far as the search has seen it."""
    line: tuple[int, ...]
    """How it may go on behind that, down to the first roll; empty where something is hidden."""

    @property
    def points_lost(self) -> float | None:
        """The same as a share of what a plain win is worth."""
        return None if self.lost is None else self.lost / plain_win(self.turn.start.game)

    @property
    def mark(self) -> str:
        for mark, least in MARKS:
            if self.points_lost is not None and self.points_lost >= least:
                return mark
        return ""


@dataclass(frozen=True)
class Review:
    """All turns of a game that had a choice."""

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
    """Judges every turn of a game in which there was a choice."""
    turns = [turn for turn in turns_of(record) if turn.has_choice]
    starts = [turn.start for turn in turns]

    def analyse_starts(settings: SearchSettings) -> list[Analysis]:
        return analyse_all(player, starts, seed, partial(on_progress, "turns"), settings)

    if record.game.hidden:
        verdicts = judged_by_values(turns, analyse_starts(EVEN_LOOK))
    else:
        verdicts = judged_by_results(turns, analyse_starts({}), player, seed, on_progress)
    return Review(record, player.name, verdicts)


def plain_win(game: Game) -> float:
    """The smallest reward that is a win: 1 in all games of zerofleet."""
    return min(outcome.reward for outcome in game.outcomes if outcome.reward > 0)


def turns_of(record: GameRecord) -> list[PlayedTurn]:
    """The turns of a game; where something is hidden, each action by itself."""
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
    for at in range(0, len(positions), POSITIONS_AT_ONCE):
        on_progress(at, len(positions))
        some = positions[at : at + POSITIONS_AT_ONCE]
        found += player.analyse_many(some, [seed] * len(some), **settings)
    on_progress(len(positions), len(positions))
    return found


# ---- where something is hidden


def judged_by_values(turns: list[PlayedTurn], starts: list[Analysis]) -> list[Verdict]:
    """By the values that one search, which knows what the mover knew, found for its actions."""
    verdicts = []
    for turn, found in zip(turns, starts, strict=True):
        values = found.values_to_move
        (played,) = turn.actions
        best = found.best_action
        lost = max(0.0, values[best] - values[played]) if played in values else None
        better = (best,) if best != played else ()
        verdicts.append(Verdict(turn, values[best], lost, better, ()))
    return verdicts


# ---- where all is seen


def judged_by_results(
    turns: list[PlayedTurn],
    starts: list[Analysis],
    player: SearchPlayer,
    seed: int,
    on_progress: OnProgress,
) -> list[Verdict]:
    """By a search of where the turn led to, and one of where the best turn would have led to."""
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
        else:  # on a second look the turn played is as good
            verdicts.append(Verdict(turn, value_played, 0.0, (), ()))
    return verdicts


def best_turn(found: Analysis) -> tuple[tuple[int, ...], Position]:
    """The mover's part of the principal variation, and where it leads to."""
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
    """What each position is worth to player 0; a game that is over, its reward."""
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
