"""The data of a report: a run's records and games. The run may still be training."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

from zerofleet import metrics
from zerofleet.arena.ratings import FROZEN
from zerofleet.config import Config, read
from zerofleet.games import Episode, Game, Position
from zerofleet.metrics import Record
from zerofleet.runs import LoggedGame, LoggedGames
from zerofleet.runs.folder import Run

GAMES_SAMPLED = 2000
"""How many games are decoded: at most this many spread over the log, and as many of the newest."""


@dataclass(frozen=True)
class RunData:
    """The data of one run. Records are in order. Each has `trained_s` (training time so far, over
    all sessions) and `run_games` (games of the run so far); a rating has those of its weights."""

    run: Run
    config: Config
    game: Game
    statuses: list[Record]
    losses: list[Record]
    ratings: list[Record]
    sampled_games: list[LoggedGame]
    newest_games: list[Episode]
    faults: list[str]
    """Damage in the episode log; damaged games are skipped."""

    @property
    def last_ratings(self) -> list[Record]:
        """The last rating against each opponent."""
        return last_of_each_opponent(self.ratings)

    @property
    def sample(self) -> Episode | None:
        """The newest game that was not truncated."""
        finished = (each for each in reversed(self.newest_games) if each.outcome_first_player >= 0)
        return next(finished, None)


def last_of_each_opponent(ratings: Iterable[Record]) -> list[Record]:
    return list({record["opponent"]: record for record in ratings}.values())


def exploit_text(config: Config, ratings: Iterable[Record]) -> str:
    """What a run that exploits frozen weights has found; empty for others and before a rating."""
    last = [each for each in last_of_each_opponent(ratings) if each["opponent"] == FROZEN]
    if not config.opponent.source or not last:
        return ""
    (found,) = last
    return (
        f"{config.opponent.source} ({config.opponent.sha256[:8]}…): scores {found['score']:.1%} "
        f"({found['low']:.1%} to {found['high']:.1%}, {found['games']:,} games) against it at step "
        f"{found['step']:,}; 50 % where it finds nothing to exploit"
    )


def collect(run: Run) -> RunData:
    """Reads the records and games of a run."""
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
    """Adds trained_s and run_games to the records."""
    progress = Progress()
    return [progress.add_to(record) for record in records]


class Progress:
    """How far a run has come, record by record. Each session's clock starts at 0."""

    def __init__(self) -> None:
        self._earlier_sessions_s = self._elapsed_s = 0.0
        self._run_games = 0

    def add_to(self, record: Record) -> Record:
        """The next record, with trained_s and run_games."""
        if "elapsed_s" in record:
            if record["elapsed_s"] < self._elapsed_s:
                self._earlier_sessions_s += self._elapsed_s
            self._elapsed_s = record["elapsed_s"]
        if record["kind"] == "status":
            self._run_games = record.get("games", self._run_games)
        trained_s = self._earlier_sessions_s + self._elapsed_s
        return record | {"trained_s": trained_s, "run_games": self._run_games}


def at_their_steps(ratings: list[Record], statuses: list[Record]) -> list[Record]:
    """Gives each rating the trained_s and run_games of its weights: a rating is written only when
    its games are over, and the weights of step 0 exist from the start."""
    moved = []
    for rating in ratings:
        reached = next((each for each in statuses if each["step"] >= rating["step"]), rating)
        if rating["step"] == 0:
            reached = {"trained_s": 0.0, "run_games": 0}
        moved.append(rating | {name: reached[name] for name in ("trained_s", "run_games")})
    return moved


# ---- openings


@dataclass
class Opening:
    """Games that share their first plies."""

    num_games: int = 0
    reward_beginner: float = 0.0
    """Reward of the player who moved first, summed over the games."""
    following: "dict[str, Opening]" = field(default_factory=dict)
    """Continuations, by the text of the next move or roll."""

    @property
    def mean_beginner(self) -> float:
        return self.reward_beginner / self.num_games

    def count(self, reward_beginner: float) -> None:
        self.num_games += 1
        self.reward_beginner += reward_beginner

    def most_played(self) -> "list[tuple[str, Opening]]":
        return sorted(self.following.items(), key=lambda item: -item[1].num_games)


def opening_tree(episodes: list[Episode], game: Game, num_plies: int) -> Opening:
    """The opening tree of finished games, ply by ply."""
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
    """The player who moved first, which a roll or the deal may decide."""
    return next(position.to_move for position in positions if position.to_move in (0, 1))
