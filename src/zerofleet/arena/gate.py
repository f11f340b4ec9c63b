"""The gate: a sequential probability ratio test (SPRT) of whether one player is stronger.

A generalised SPRT over pairs of games with the pentanomial model, as Fishtest runs it (Wald 1945;
docs/references.md). H0: the first player is `elo0` stronger; H1: it is `elo1` stronger. Under each,
the five results of a pair have the maximum-likelihood distribution with the expected mean. The test
stops when the log-likelihood ratio leaves the bounds: a player at elo0 or below is accepted with
probability about `alpha` at most, one at elo1 or above rejected with about `beta` at most.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from zerofleet.arena.elo import expected_score
from zerofleet.arena.match import Pairing, PlayerSource
from zerofleet.arena.match_result import Match
from zerofleet.arena.players import game_of
from zerofleet.arena.starts import opening_of_each_pair
from zerofleet.errors import BadText
from zerofleet.games import Game
from zerofleet.weights import refusing_older_weights

Verdict = Literal["accepted", "rejected", "undecided"]

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
UNSEEN = 1e-3
"""Pseudo-count of each result, so that an unseen one has a nonzero likelihood."""
NUM_HALVINGS = 50
MAX_ELO = 3000
"""Beyond this no practical number of games distinguishes the score from 0 or 1."""


@dataclass(frozen=True)
class Hypotheses:
    """H0, H1 and the error probabilities of the test."""

    elo0: float = 0
    elo1: float = 30
    """Closer to elo0 takes more games: half the distance, four times the games."""
    alpha: float = 0.05
    """Type I error: probability to accept a player that is only elo0 stronger."""
    beta: float = 0.05
    """Type II error: probability to reject a player that is elo1 stronger."""

    def __post_init__(self) -> None:
        for name in ("elo0", "elo1"):
            if not abs(getattr(self, name)) <= MAX_ELO:
                raise BadText(
                    f"{name} must be from {-MAX_ELO} to {MAX_ELO}, got {getattr(self, name)}"
                )
        if not self.elo0 < self.elo1:
            raise BadText(f"elo0 must be below elo1, got {self.elo0} and {self.elo1}")
        for name in ("alpha", "beta"):
            if not 0 < getattr(self, name) < 0.5:
                raise BadText(f"{name} must be between 0 and 0.5, got {getattr(self, name)}")

    @property
    def bounds(self) -> tuple[float, float]:
        """Wald's bounds on the log-likelihood ratio: rejected below, accepted above."""
        return math.log(self.beta / (1 - self.alpha)), math.log((1 - self.beta) / self.alpha)

    def __str__(self) -> str:
        return f"elo0 {self.elo0:g}, elo1 {self.elo1:g}, alpha {self.alpha:g}, beta {self.beta:g}"


class SequentialTest:
    """The state of the test; takes one pair at a time until there is a verdict."""

    def __init__(self, hypotheses: Hypotheses) -> None:
        self.hypotheses = hypotheses
        self.log_likelihood_ratio = 0.0
        self.verdict: Verdict = "undecided"
        self._counts = dict.fromkeys(PAIR_SCORES, UNSEEN)

    def add(self, pair_score: float) -> Verdict:
        self._counts[pair_score] += 1
        likelihoods = [
            log_likelihood(self._counts, expected_score(elo))
            for elo in (self.hypotheses.elo0, self.hypotheses.elo1)
        ]
        self.log_likelihood_ratio = likelihoods[1] - likelihoods[0]
        lower, upper = self.hypotheses.bounds
        if self.log_likelihood_ratio >= upper:
            self.verdict = "accepted"
        elif self.log_likelihood_ratio <= lower:
            self.verdict = "rejected"
        return self.verdict


def log_likelihood(counts: dict[float, float], mean: float) -> float:
    """Log-likelihood of the counts under the most likely distribution with this mean.

    That distribution scales each score's frequency by 1 / (1 + tilt · (score - mean)). Bisection
    finds the one tilt that gives the mean. Constant terms are omitted.
    """
    low, high = -1 / (1 - mean), 1 / mean
    for _ in range(NUM_HALVINGS):
        tilt = (low + high) / 2
        excess = sum(
            count * (score - mean) / (1 + tilt * (score - mean)) for score, count in counts.items()
        )
        low, high = (tilt, high) if excess > 0 else (low, tilt)
    return -sum(count * math.log(1 + tilt * (score - mean)) for score, count in counts.items())


@dataclass(frozen=True)
class GateResult:
    """The verdict, and the games it took."""

    verdict: Verdict
    log_likelihood_ratio: float
    hypotheses: Hypotheses
    match: Match
    """The games up to the verdict."""

    def __str__(self) -> str:
        lower, upper = self.hypotheses.bounds
        return (
            f"{self.match}\n"
            f"test    {self.hypotheses}\n"
            f"LLR     {self.log_likelihood_ratio:+.2f} (bounds {lower:+.2f} and {upper:+.2f})\n"
            f"verdict {self.match.first} is {self.verdict}"
        )


def gate(
    game: str | Game,
    first: PlayerSource,
    second: PlayerSource,
    hypotheses: Hypotheses | None = None,
    max_games: int = 10_000,
    seed: int = 1,
    num_threads: int | None = None,
    on_progress: Callable[[int, float], None] = lambda num_games, log_likelihood_ratio: None,
    **game_options: int | str,
) -> GateResult:
    """Plays until the test has a verdict or `max_games` are played; then it is undecided.

    The verdict does not depend on the number of threads. `on_progress` gets the number of finished
    games and the log-likelihood ratio from time to time.
    """
    game = game_of(game, game_options)
    if max_games < 2 or max_games % 2:
        raise BadText(f"games are played in pairs: max_games must be even, got {max_games}")
    with refusing_older_weights():
        pairing = Pairing(game, first, second, seed, num_threads)
    opening_of = opening_of_each_pair(game, seed)
    test = SequentialTest(hypotheses or Hypotheses())
    matches: list[Match] = []
    at_once = pairing.pairs_per_block * pairing.num_threads
    pairs = range(max_games // 2)
    for begin in pairs[::at_once]:
        numbers = pairs[begin : begin + at_once]
        step = pairing.play(numbers, opening_of)
        for num_pairs, pair_score in enumerate(step.pair_scores, start=1):
            if test.add(pair_score) != "undecided":
                matches.append(replace(step, played=step.played[: 2 * num_pairs]))
                return result_of(test, matches)
        matches.append(step)
        on_progress(2 * numbers.stop, test.log_likelihood_ratio)
    return result_of(test, matches)


def result_of(test: SequentialTest, matches: Sequence[Match]) -> GateResult:
    played = [game for match in matches for game in match.played]
    return GateResult(
        test.verdict,
        test.log_likelihood_ratio,
        test.hypotheses,
        replace(matches[0], played=played),
    )
