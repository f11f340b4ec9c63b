"""What a report is made of: a run's records and games, read while it may still be training."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from zerofleet import metrics
from zerofleet.config import Config, read
from zerofleet.games import Episode, Game, Position
from zerofleet.metrics import Record
from zerofleet.runs import LoggedGame, LoggedGames
from zerofleet.runs.folder import Run

GAMES_SAMPLED = 2000
"""At most so many games are decoded, spread over all that are still there; and so many of the
newest."""


@dataclass(frozen=True)
class RunData:
    """A run as its report shows it. Records are in order, each with `trained_s` (seconds trained
    until then, over all sessions) and `run_games` (games of the run until then); of a rating, until
    its weights were made."""

    run: Run
    config: Config
    game: Game
    statuses: list[Record]
    losses: list[Record]
    ratings: list[Record]
    sampled_games: list[LoggedGame]
    newest_games: list[Episode]
    faults: list[str]
    """What is damaged in the log of games, and so left out."""

    @property
    def last_ratings(self) -> list[Record]:
        """The last of each opponent."""
        return last_of_each_opponent(self.ratings)

    @property
    def sample(self) -> Episode | None:
        """The newest game that was played to its end."""
        whole = (each for each in reversed(self.newest_games) if each.outcome_first_player >= 0)
        return next(whole, None)


def last_of_each_opponent(ratings: Iterable[Record]) -> list[Record]:
    return list({record["opponent"]: record for record in ratings}.values())


def collect(run: Run) -> RunData:
    """Reads all of it."""
    has_records = (run.folder / metrics.FILE_NAME).exists()
    records = with_progress(list(metrics.read(run.folder))) if has_records else []
    log = LoggedGames(run.episodes, run.game(), run.name)
    statuses = [record for record in records if record["kind"] == "status"]
    return RunData(
        run=run,
        config=read(run.config_path),
        game=log.game,
        statuses=statuses,
        losses=[record for record in records if record["kind"] == "train"],
        ratings=at_their_steps([each for each in records if each["kind"] == "rating"], statuses),
        sampled_games=log.sampled(GAMES_SAMPLED),
        newest_games=[each.episode for each in log.newest(GAMES_SAMPLED)],
        faults=list(log.faults.values()),
    )


def with_progress(records: list[Record]) -> list[Record]:
    """The records with trained_s and run_games. A session's clock begins at 0."""
    earlier_sessions_s = elapsed_s = 0.0
    run_games = 0
    found = []
    for record in records:
        if "elapsed_s" in record:
            if record["elapsed_s"] < elapsed_s:
                earlier_sessions_s += elapsed_s
            elapsed_s = record["elapsed_s"]
        if record["kind"] == "status":
            run_games = record.get("games", run_games)
        trained_s = earlier_sessions_s + elapsed_s
        found.append(record | {"trained_s": trained_s, "run_games": run_games})
    return found


def at_their_steps(ratings: list[Record], statuses: list[Record]) -> list[Record]:
    """The ratings with trained_s and run_games of when the weights were made: a rating is written
    when its games are over, and the weights of step 0 were there at the start."""
    found = []
    for rating in ratings:
        reached = next((each for each in statuses if each["step"] >= rating["step"]), rating)
        if rating["step"] == 0:
            reached = {"trained_s": 0.0, "run_games": 0}
        found.append(rating | {name: reached[name] for name in ("trained_s", "run_games")})
    return found


# ---- openings


@dataclass
class Opening:
    """Games that began alike."""

    num_games: int = 0
    reward_beginner: float = 0.0
    """Of the player who moved first, summed over the games."""
    following: "dict[str, Opening]" = field(default_factory=dict)
    """By the text of the next move or roll."""

    @property
    def mean_beginner(self) -> float:
        return self.reward_beginner / self.num_games

    def count(self, reward_beginner: float) -> None:
        self.num_games += 1
        self.reward_beginner += reward_beginner

    def most_played(self) -> "list[tuple[str, Opening]]":
        return sorted(self.following.items(), key=lambda item: -item[1].num_games)


def opening_tree(episodes: list[Episode], game: Game, num_plies: int) -> Opening:
    """How whole games began, ply by ply."""
    root = Opening()
    for episode in episodes:
        if episode.outcome_first_player < 0:
            continue
        positions = episode.positions(game)
        reward = positions[-1].rewards()[beginner(positions)]
        root.count(reward)
        node = root
        for position, event in islice(zip(positions, episode.events, strict=False), num_plies):
            node = node.following.setdefault(position.action_text(event.id), Opening())
            node.count(reward)
    return root


def beginner(positions: list[Position]) -> int:
    """The player who moved first: a roll or the deal can decide that."""
    return next(position.to_move for position in positions if position.to_move in (0, 1))
