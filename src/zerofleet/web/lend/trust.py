"""How far a sender of games is trusted, and when it no longer is.

Every game is replayed through the rules and compared with what its seed gives, so results, dice,
hands, forced actions and versions cannot be forged. Policies and values can: only a search shows
what they should be. All games of a sender are searched again until ten in a row were valid; then
each with probability 1/n after n valid ones, at least 1 %, drawn after the game has arrived. While
a sender is suspect all its games are searched again.

Networks do not give the same bits everywhere, so a single decision that differs proves nothing. A
CUSUM test (Page 1954) adds up the evidence over decisions: log(p1/p0) for one that differs,
log((1-p1)/(1-p0)) for one that agrees, and never falls below 0. p0 bounds how often an honest
sender's decisions differ, p1 is the smallest share of forged ones that the test is made for. The
expected number of honest decisions before a false alarm is at least exp(ALARM) (Lorden 1971), so
with ALARM = log(100,000 x 256) fewer than one in 100,000 honest games of at most 256 decisions
raises one. docs/12-lending.md has the calibration.

Returning only games that went one way would bias the run without a single forged byte. Each seed
is an assignment; some that do not come back are played here, and Fisher's exact test compares
their results and lengths with those that came back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

FIRST_GAMES = 10
"""Valid games in a row before a sender is trusted with a sample."""
MIN_CHECK_PROBABILITY = 0.01

MAX_DECISIONS = 256
FALSE_ALARMS_PER_GAME = 1e-5
ALARM = math.log(MAX_DECISIONS / FALSE_ALARMS_PER_GAME)

HONEST_RATE = 0.01
"""p0, of decisions that differ although nobody cheated: wasm and WebGPU."""
FORGED_RATE = 0.15
"""p1"""
IF_DIFFERENT = math.log(FORGED_RATE / HONEST_RATE)
IF_EQUAL = math.log((1 - FORGED_RATE) / (1 - HONEST_RATE))

MAX_POLICY_DISTANCE = 0.05
"""Total variation between a claimed policy and the one searched again."""
MAX_OUTCOME_DISTANCE = 0.02
"""The same between outcome distributions."""

SELECTION_P_VALUE = 1e-7
MIN_REPLAYED = 16
"""Games that were played in place of a sender before its selection is tested; the next tests come
whenever their number has doubled, so that few tests are made."""


@dataclass(frozen=True)
class Standing:
    """What is known of a sender."""

    num_valid: int = 0
    """Games in a row in which nothing was wrong."""
    num_checked: int = 0
    suspicion: float = 0.0
    """Of the sequential test."""

    @property
    def check_probability(self) -> float:
        """With which the next game is searched again."""
        if self.num_valid < FIRST_GAMES or self.suspicion > 0:
            return 1.0
        return max(MIN_CHECK_PROBABILITY, 1 / self.num_valid)

    @property
    def is_alarming(self) -> bool:
        return self.suspicion >= ALARM

    def after_valid(self) -> "Standing":
        """A game that was not searched again, and in which nothing was wrong."""
        return Standing(self.num_valid + 1, self.num_checked, self.suspicion)

    def after_check(self, differ: Sequence[bool]) -> "Standing":
        """A game whose decisions were searched again; `differ` says which of them differed. The
        test stops where it raises the alarm."""
        suspicion = self.suspicion
        for each in differ:
            suspicion = max(0.0, suspicion + (IF_DIFFERENT if each else IF_EQUAL))
            if suspicion >= ALARM:
                break
        return Standing(self.num_valid + 1, self.num_checked + 1, suspicion)


def is_selected(returned: Sequence[tuple[bool, int]], replayed: Sequence[tuple[bool, int]]) -> str:
    """Why the games that a sender returned cannot be a fair sample of those it was given; empty
    where they may be. Each game is whether the first player won, and its plies."""
    if not returned or not replayed:
        return ""
    median = sorted(plies for _, plies in [*returned, *replayed])[
        (len(returned) + len(replayed)) // 2
    ]
    for what, is_one in (
        ("games that the first player won", lambda game: game[0]),
        ("long games", lambda game: game[1] >= median),
    ):
        here, there = sum(map(is_one, returned)), sum(map(is_one, replayed))
        if fisher_p_value(here, len(returned), there, len(replayed)) < SELECTION_P_VALUE:
            return (
                f"{here} of {len(returned)} games that came back are {what}, and {there} of "
                f"{len(replayed)} of those that did not"
            )
    return ""


def is_test_due(num_replayed: int) -> bool:
    """At 16, 32, 64, …"""
    return num_replayed >= MIN_REPLAYED and num_replayed & (num_replayed - 1) == 0


def fisher_p_value(hits_a: int, num_a: int, hits_b: int, num_b: int) -> float:
    """Fisher's exact test, two-sided: of tables with these margins, the probability of those that
    are no likelier than the one seen."""
    num_hits, total = hits_a + hits_b, num_a + num_b

    def log_probability(hits: int) -> float:
        return (
            log_choose(num_a, hits)
            + log_choose(num_b, num_hits - hits)
            - log_choose(total, num_hits)
        )

    seen = log_probability(hits_a)
    possible = range(max(0, num_hits - num_b), min(num_a, num_hits) + 1)
    each = (log_probability(hits) for hits in possible)
    return min(1.0, math.fsum(math.exp(one) for one in each if one <= seen + 1e-9))


def log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
