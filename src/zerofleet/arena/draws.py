"""What is drawn in a match: deals, dice, and the seeds of its players' choices.

Each draw depends on the seed of the match and on what it is for, not on draws before it, so that a
browser draws the same (web/src/lend/draws.ts) and a single decision can be asked again. Seeds are
derived as the core derives those of self-play (cpp/base/random.h).
"""

from collections.abc import Sequence

from zerofleet.config import MAX_SEED

WORD = 2**64 - 1

DEAL, DICE, CHOICES = 0, 1, 2
"""What the streams of a pair are for. The dice are the same in both of its games; each game has its
own choices, CHOICES + seat of the player named first."""


def mix64(number: int) -> int:
    """One step of splitmix64: a bijection on 64 bits that mixes well."""
    number = (number + 0x9E3779B97F4A7C15) & WORD
    number = (number ^ (number >> 30)) * 0xBF58476D1CE4E5B9 & WORD
    number = (number ^ (number >> 27)) * 0x94D049BB133111EB & WORD
    return number ^ (number >> 31)


def derived(seed: int, *salts: int) -> int:
    """The seed of an independent stream, on 64 bits."""
    for salt in salts:
        seed = mix64(mix64(seed) ^ salt)
    return seed


def deal_seed(seed: int, pair: int) -> int:
    """With which both games of a pair are dealt."""
    return derived(seed, pair, DEAL) & MAX_SEED


def choice_seed(seed: int, pair: int, first_seat: int, ply: int) -> int:
    """With which the player to move chooses."""
    return derived(seed, pair, CHOICES + first_seat, ply) & MAX_SEED


def drawn_outcome(
    outcomes: Sequence[tuple[int, float]], seed: int, pair: int, num_before: int
) -> int:
    """A chance outcome by its probability; `num_before` were drawn before it in its game."""
    left = (derived(seed, pair, DICE, num_before) >> 11) * 2.0**-53
    for outcome, probability in outcomes:
        left -= probability
        if left < 0:
            return outcome
    return outcomes[-1][0]


def drawn_among(options: Sequence[int], seed: int) -> int:
    """One of them, uniformly to within 2**-56."""
    return options[mix64(seed) * len(options) >> 64]
