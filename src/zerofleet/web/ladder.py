"""Ladders: players of one game, rated by all rating matches of its runs.

Every rated step of a run is a player, run:NAME@STEP; so is each opponent. The opponent `start` of a
run is its step 0.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from zerofleet.arena.elo import PairScores, fit_elo
from zerofleet.arena.match_result import PAIR_SCORES
from zerofleet.arena.ratings import ANCHOR, FROZEN, START
from zerofleet.arena.statistics import estimate
from zerofleet.metrics import Record
from zerofleet.runs.folder import Run
from zerofleet.web.schema import Ladder, LadderPair, LadderPlayer

MAX_STEPS = 24
"""Rated steps of a run that a ladder shows: the last, and others spread evenly."""

Pair = tuple[str, str]


@dataclass
class Results:
    """Pairs of games between two players: the first one's score in each pair."""

    scores: list[float] = field(default_factory=list)
    num_games: int = 0


def ladders_of(runs: Sequence[tuple[Run, Sequence[Record]]], game: str | None) -> list[Ladder]:
    """A ladder per game and options that has ratings."""
    by_game: dict[tuple[str, tuple[tuple[str, str], ...]], dict[Pair, Results]] = {}
    for run, ratings in runs:
        if game is not None and run.facts.game != game:
            continue
        options = tuple((name, str(value)) for name, value in run.facts.options.items())
        found = by_game.setdefault((run.facts.game, options), defaultdict(Results))
        add(found, run.name, ratings)
    return [
        ladder_of(name, dict(options), results)
        for (name, options), results in sorted(by_game.items())
        if results
    ]


def add(found: dict[Pair, Results], run: str, ratings: Sequence[Record]) -> None:
    """Adds the last rating of each step and opponent."""
    steps = sorted({record["step"] for record in ratings})
    stride = max(1, -(-len(steps) // MAX_STEPS))
    kept = set(steps[::-1][::stride])
    last = {(record["step"], record["opponent"]): record for record in ratings}
    for (step, opponent), record in last.items():
        if step not in kept:
            continue
        names = {START: f"run:{run}@0", FROZEN: f"{FROZEN}:{run}"}
        other = names.get(str(opponent), str(opponent))
        me = f"run:{run}@{step}"
        if me == other:
            continue
        results = found[me, other]
        counts = zip(PAIR_SCORES, record["pairs"], strict=True)
        results.scores += [score for score, count in counts for _ in range(count)]
        results.num_games += record["games"]


def ladder_of(game: str, options: dict[str, str], results: dict[Pair, Results]) -> Ladder:
    players = list(dict.fromkeys(name for pair in results for name in pair))
    opponents = [second for _, second in results]
    anchor = ANCHOR if ANCHOR in players else max(dict.fromkeys(opponents), key=opponents.count)
    connected = reachable(anchor, results)
    numbers = {name: number for number, name in enumerate(sorted(connected))}
    rated = {pair: found for pair, found in results.items() if pair[0] in connected}
    elo, errors = fit_elo(
        len(numbers),
        [
            PairScores(numbers[first], numbers[second], found.scores)
            for (first, second), found in rated.items()
        ],
        numbers[anchor],
    )
    found_players = [
        player_of(name, float(elo[number]), float(errors[number]), rated)
        for name, number in numbers.items()
    ]
    return Ladder(
        game=game,
        options=options,
        anchor=anchor,
        players=sorted(found_players, key=lambda player: -player.elo),
        pairs=[pair_of(pair, found) for pair, found in results.items()],
        unconnected=[name for name in players if name not in connected],
    )


def reachable(anchor: str, pairs: Iterable[Pair]) -> set[str]:
    """The players that a chain of matches connects with the anchor."""
    known, links = {anchor}, list(pairs)
    grew = True
    while grew:
        grew = False
        for first, second in links:
            if (first in known) != (second in known):
                known |= {first, second}
                grew = True
    return known


def player_of(name: str, elo: float, error: float, results: dict[Pair, Results]) -> LadderPlayer:
    num_games, points = 0, 0.0
    for (first, second), found in results.items():
        if name in (first, second):
            mean = sum(found.scores) / max(1, len(found.scores))
            num_games += found.num_games
            points += found.num_games * (mean if name == first else 1 - mean)
    return LadderPlayer(
        name=name,
        elo=elo,
        low=elo - error,
        high=elo + error,
        num_games=num_games,
        score=points / max(1, num_games),
    )


def pair_of(pair: Pair, found: Results) -> LadderPair:
    score = estimate(found.scores, 0, 1)
    return LadderPair(
        first=pair[0],
        second=pair[1],
        score=score.mean,
        low=score.low,
        high=score.high,
        num_games=found.num_games,
    )
