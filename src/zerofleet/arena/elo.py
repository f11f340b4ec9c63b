"""Elo ratings: the maximum-likelihood fit of the Bradley-Terry model to match results.

A player's expected score is 1 / (1 + 10^(-difference / 400)); a draw is half a win. As in
statistics.py each pairing gets two pseudo-pairs, one won by each side, so that a player that won
every game has a finite rating. Errors come from the variance over pairs (a sandwich estimator).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zerofleet.arena.statistics import Z_95, with_ends
from zerofleet.errors import Inconsistent

ELO_PER_NATURAL = 400 / math.log(10)
MAX_STEPS = 200
LARGEST_STEP = 1.0


@dataclass(frozen=True)
class PairScores:
    """The results of one pairing: player indices, and the first one's score in each pair."""

    first: int
    second: int
    scores: Sequence[float]


def expected_score(elo_difference: float) -> float:
    """The expected score of a player who is stronger by this difference."""
    return 1 / (1 + math.pow(10, -elo_difference / 400))


def fit_elo(
    num_players: int, pairings: Sequence[PairScores], anchor: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Each player's Elo (anchor: 0) and the half-width of its 95 % interval.

    Pairings must connect every player with the anchor.
    """
    # M pairings, P players without the anchor: design matrix, first +1, second -1.
    sides_MP = np.zeros((len(pairings), num_players))
    for row, pairing in enumerate(pairings):
        sides_MP[row, pairing.first] += 1
        sides_MP[row, pairing.second] -= 1
    sides_MP = np.delete(sides_MP, anchor, axis=1)
    if np.linalg.matrix_rank(sides_MP) < num_players - 1:
        raise Inconsistent("ratings need matches that connect every player with the anchor")
    padded = [with_ends(pairing.scores, 0, 1) for pairing in pairings]
    pairs_M = np.array([len(scores) for scores in padded], float)
    score_M = np.array([scores.mean() for scores in padded])
    variance_M = np.array([scores.var() for scores in padded])

    strength_P = np.zeros(num_players - 1)
    for _ in range(MAX_STEPS):  # Newton's method; the log-likelihood is concave
        expected_M = 1 / (1 + np.exp(-sides_MP @ strength_P))
        gradient_P = sides_MP.T @ (pairs_M * (score_M - expected_M))
        information_PP = weighted(sides_MP, pairs_M * expected_M * (1 - expected_M))
        step_P = np.linalg.solve(information_PP, gradient_P)
        strength_P += step_P * min(1, LARGEST_STEP / max(np.abs(step_P).max(), 1e-12))
        if np.abs(step_P).max() < 1e-9:
            break
    bread_PP = np.linalg.inv(information_PP)
    covariance_PP = bread_PP @ weighted(sides_MP, pairs_M * variance_M) @ bread_PP
    errors_P = Z_95 * np.sqrt(np.diag(covariance_PP))
    elo = np.insert(strength_P, anchor, 0) * ELO_PER_NATURAL
    return elo, np.insert(errors_P, anchor, 0) * ELO_PER_NATURAL


def weighted(sides_MP: NDArray[np.float64], weights_M: NDArray[np.float64]) -> NDArray[np.float64]:
    product: NDArray[np.float64] = sides_MP.T @ (weights_M[:, None] * sides_MP)
    return product
