"""The Elo of a run over its steps, fitted to its rating matches.

All ratings are fitted together, with each rated step and each opponent as a player. So the whole
run has one scale, and opponents get a rating too. The curve begins at the opponent `start`, the
run's initial weights. If all opponents were replaced mid-run, nothing connects the ratings before
and after; then only the part that includes the anchor has Elo.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from zerofleet.arena.elo import PairScores, fit_elo
from zerofleet.arena.match_result import PAIR_SCORES
from zerofleet.arena.ratings import ANCHOR, START
from zerofleet.metrics import Record


@dataclass(frozen=True)
class RatedStep:
    step: int
    trained_s: float
    run_games: int
    elo: float
    error: float
    """Half the width of the 95 % interval."""


@dataclass(frozen=True)
class EloCurve:
    anchor: str
    """The opponent whose Elo is 0."""
    steps: list[RatedStep]
    opponents: dict[str, float]


def elo_curve(ratings: Sequence[Record]) -> EloCurve | None:
    """None without ratings. Records have trained_s and run_games, see zerofleet.report.data."""
    if not ratings:
        return None
    anchor = ANCHOR if ANCHOR in opponents_in(ratings) else opponents_in(ratings)[0]
    # A step rated twice counts once, by its last rating.
    last = {(record["step"], record["opponent"]): record for record in ratings}
    ratings = connected(list(last.values()), anchor)
    opponents = opponents_in(ratings)
    last_of_step = {int(record["step"]): record for record in ratings}
    numbers = {name: number for number, name in enumerate([*opponents, *last_of_step])}
    elo, errors = fit_elo(
        len(numbers),
        [
            PairScores(
                numbers[int(record["step"])], numbers[str(record["opponent"])], pair_scores(record)
            )
            for record in ratings
        ],
        numbers[anchor],
    )
    steps = [
        RatedStep(
            step,
            record["trained_s"],
            record["run_games"],
            float(elo[numbers[step]]),
            float(errors[numbers[step]]),
        )
        for step, record in last_of_step.items()
    ]
    if START in opponents and 0 not in last_of_step:
        first = numbers[START]
        steps = [RatedStep(0, 0.0, 0, float(elo[first]), float(errors[first])), *steps]
    return EloCurve(anchor, steps, {name: float(elo[numbers[name]]) for name in opponents})


def opponents_in(ratings: Sequence[Record]) -> list[str]:
    return list(dict.fromkeys(str(record["opponent"]) for record in ratings))


def connected(ratings: Sequence[Record], anchor: str) -> list[Record]:
    """The ratings of steps that are connected to the anchor by a chain of matches."""
    opponents, num_known = {anchor}, 0
    while len(opponents) > num_known:
        num_known = len(opponents)
        steps = {each["step"] for each in ratings if each["opponent"] in opponents}
        opponents |= {each["opponent"] for each in ratings if each["step"] in steps}
    return [each for each in ratings if each["step"] in steps]


def pair_scores(record: Record) -> list[float]:
    counts = zip(PAIR_SCORES, record["pairs"], strict=True)
    return [score for score, count in counts for _ in range(count)]
