"""Elo ratings from a round robin; `random` is the anchor with 0 Elo."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations

from zerofleet.arena.elo import PairScores, fit_elo
from zerofleet.arena.match import match
from zerofleet.arena.match_result import Match
from zerofleet.arena.players import game_of
from zerofleet.config import game_text
from zerofleet.errors import BadText
from zerofleet.games import Game
from zerofleet.infer.load import weights_named
from zerofleet.weights import refusing_older_weights

ANCHOR = "random"
START = "start"
"""As an opponent: the weights of step 0 of the run."""
FROZEN = "frozen"
"""As an opponent: the weights that the run exploits."""
PICTURE_COLUMNS = 30


@dataclass(frozen=True)
class Rating:
    """One player's rating."""

    player: str
    elo: float
    error: float
    """Half-width of the 95 % interval; 0 for the anchor."""
    num_games: int
    score: float
    """Mean score over all its games."""


@dataclass(frozen=True)
class Ratings:
    """Ratings in descending order."""

    game: Game
    ratings: list[Rating]
    matches: list[Match] = field(repr=False)

    def rows(self) -> list[tuple[str, str, str, str, str, str]]:
        """Player, Elo, error, games, score and text plot of each player."""
        pictures = pictures_of(self.ratings)
        return [
            (
                rating.player,
                f"{rating.elo:+.0f}",
                f"±{rating.error:.0f}" if rating.error else "",
                str(rating.num_games),
                f"{rating.score:.1%}",
                picture,
            )
            for rating, picture in zip(self.ratings, pictures, strict=True)
        ]

    def __str__(self) -> str:
        table = [("player", "Elo", "95 %", "games", "score", ""), *self.rows()]
        widths = [max(len(row[column]) for row in table) for column in range(6)]
        lines = [
            "  ".join(
                cell.ljust(width) if column in (0, 5) else cell.rjust(width)
                for column, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in table
        ]
        return "\n".join(
            [f"{game_text(self.game.name, self.game.options)}: Elo, {ANCHOR} = 0", *lines]
        )


def rate(
    game: str | Game,
    players: Sequence[str],
    num_games: int = 200,
    seed: int = 1,
    num_threads: int | None = None,
    on_progress: Callable[[str, int, int], None] = lambda pairing, num_done, num_games: None,
    **game_options: int | str,
) -> Ratings:
    """Plays `num_games` in each pairing and rates all players; adds `random` if absent.

    `on_progress` gets the pairing, the number of its finished games and of all its games.
    """
    game = game_of(game, game_options)
    names = list(players) if ANCHOR in players else [*players, ANCHOR]
    if len(set(names)) < len(names):
        raise BadText(f"a player is listed twice: {', '.join(names)}")
    if len(names) < 2:
        raise BadText(f"a rating needs a player besides {ANCHOR}")
    with refusing_older_weights():  # before the first game, not in the middle
        for name in names:
            if name.startswith("run:"):
                weights_named(name.partition(",")[0], game)
    matches = []
    for first, second in combinations(names, 2):
        show = partial(on_progress, f"{first} against {second}")
        matches.append(match(game, first, second, num_games, seed, num_threads, on_progress=show))
    return ratings_of(game, names, matches)


def ratings_of(game: Game, names: Sequence[str], matches: Sequence[Match]) -> Ratings:
    """Fits ratings to matches; `random` must be among the names."""
    numbers = {name: number for number, name in enumerate(names)}
    pairings = [
        PairScores(numbers[played.first], numbers[played.second], played.pair_scores)
        for played in matches
    ]
    elo, errors = fit_elo(len(names), pairings, numbers[ANCHOR])
    ratings = []
    for name, number in numbers.items():
        results = [
            (played.num_games, played.score if played.first == name else 1 - played.score)
            for played in matches
            if name in (played.first, played.second)
        ]
        num_games = sum(count for count, _ in results)
        score = sum(count * score for count, score in results) / num_games
        ratings.append(Rating(name, float(elo[number]), float(errors[number]), num_games, score))
    ratings.sort(key=lambda rating: -rating.elo)
    return Ratings(game, ratings, list(matches))


def pictures_of(ratings: Sequence[Rating]) -> list[str]:
    """A text plot per rating, on one scale: o is the rating, dashes its interval."""
    lowest = min(rating.elo - rating.error for rating in ratings)
    highest = max(rating.elo + rating.error for rating in ratings)
    scale = (PICTURE_COLUMNS - 1) / max(highest - lowest, 1)

    def column(elo: float) -> int:
        return round((elo - lowest) * scale)

    pictures = []
    for rating in ratings:
        cells = [" "] * PICTURE_COLUMNS
        low, high = column(rating.elo - rating.error), column(rating.elo + rating.error)
        cells[low : high + 1] = "-" * (high + 1 - low)
        cells[column(rating.elo)] = "o"
        pictures.append("".join(cells).rstrip())
    return pictures
