"""The result of a match."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from zerofleet.arena.statistics import Estimate, estimate
from zerofleet.config import game_text
from zerofleet.games import Game

PAIR_SCORES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""The five results of a pair (pentanomial): the mean score of its two games."""


@dataclass(frozen=True)
class PlayedGame:
    """One game, in the view of the player named first."""

    reward_first_named: float
    """0 if the game was truncated."""
    was_truncated: bool
    episode: bytes
    """The encoded episode."""

    @property
    def score_first_named(self) -> float:
        """Win 1, draw 0.5, loss 0; a truncated game is a draw."""
        return 0.5 + 0.5 * ((self.reward_first_named > 0) - (self.reward_first_named < 0))


@dataclass(frozen=True)
class Match:
    """Games between two players. Scores and points are those of the player named first."""

    game: Game
    first: str
    second: str
    seed: int
    played: Sequence[PlayedGame] = field(repr=False)
    """Games 2 k and 2 k + 1 are pair k: the same start, seats swapped."""

    @property
    def num_games(self) -> int:
        return len(self.played)

    @property
    def wins(self) -> int:
        return sum(game.reward_first_named > 0 for game in self.played)

    @property
    def losses(self) -> int:
        return sum(game.reward_first_named < 0 for game in self.played)

    @property
    def draws(self) -> int:
        """Includes truncated games."""
        return self.num_games - self.wins - self.losses

    @property
    def num_truncated(self) -> int:
        """Games that reached max_plies."""
        return sum(game.was_truncated for game in self.played)

    @property
    def pair_scores(self) -> list[float]:
        return pair_means([game.score_first_named for game in self.played])

    @property
    def pair_counts(self) -> list[int]:
        """The number of pairs with each of PAIR_SCORES."""
        return [self.pair_scores.count(score) for score in PAIR_SCORES]

    @property
    def score(self) -> float:
        """The mean of win 1, draw 0.5, loss 0."""
        return self._score_estimate.mean

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the score, over pairs."""
        return self._score_estimate.low, self._score_estimate.high

    @property
    def points(self) -> Estimate:
        """Mean reward per game; differs from the score where wins have different rewards."""
        largest = max(outcome.reward for outcome in self.game.outcomes)
        rewards = pair_means([game.reward_first_named for game in self.played])
        return estimate(rewards, -largest, largest)

    @property
    def episodes(self) -> list[bytes]:
        """Encoded episodes in game order; zf.games.Episode.decode reads one."""
        return [game.episode for game in self.played]

    @property
    def _score_estimate(self) -> Estimate:
        return estimate(self.pair_scores, 0, 1)

    def __str__(self) -> str:
        low, high = self.interval
        points = self.points
        lines = [
            f"{game_text(self.game.name, self.game.options)}: {self.first} against {self.second}",
            f"games   {self.num_games} ({self.num_games // 2} pairs, seed {self.seed}): "
            f"won {self.wins}, drawn {self.draws}, lost {self.losses}",
            f"score   {self.score:.1%}  (95 % interval {low:.1%} to {high:.1%})",
            f"{reward_unit(self.game)}  {points.mean:+.3f} per game  "
            f"({points.low:+.3f} to {points.high:+.3f})",
        ]
        if self.num_truncated:
            lines.append(
                f"truncated {self.num_truncated} games at {self.game.max_plies} plies: draws"
            )
        return "\n".join(lines)


def reward_unit(game: Game) -> str:
    """The unit of rewards: points in backgammon, plain reward elsewhere."""
    return "points" if game.name == "backgammon" else "reward"


def pair_means(values: Sequence[float]) -> list[float]:
    return [(there + back) / 2 for there, back in zip(values[::2], values[1::2], strict=True)]
