"""Checks lent games: by the rules and the seed, and by searching their decisions again."""

from typing import Any

from zerofleet import _core
from zerofleet.config import Config
from zerofleet.errors import ZerofleetError
from zerofleet.games import Episode, Game
from zerofleet.web.lend.ledger_rows import Assignment, LedgerGame
from zerofleet.web.lend.trust import MAX_OUTCOME_DISTANCE, MAX_POLICY_DISTANCE
from zerofleet.web.lend.weights import LentWeights

MAX_TREE_BYTES = 1 << 23
CACHE_BYTES = 1 << 24
"""A tab has little memory, and a tree for each of its games."""

PATIENCE_S = 0.2


class GameFault(Exception):
    """Why a game does not count. A proof shows that it was forged, since no honest sender can have
    played it."""

    def __init__(self, code: str, reason: str, is_proof: bool = False) -> None:
        super().__init__(reason)
        self.code, self.reason, self.is_proof = code, reason, is_proof


def lent_settings(config: Config, num_simulations: int) -> dict[str, Any]:
    """Of self-play in a browser. Trees are not reused, so that each decision can be searched again
    alone."""
    settings = config.for_core()
    return settings | {
        "num_simulations": num_simulations,
        "reuse_tree": False,
        "max_bytes": min(settings["max_bytes"], MAX_TREE_BYTES),
        "cache_bytes": min(settings["cache_bytes"], CACHE_BYTES),
    }


class Checker:
    """For the games of one run; used by many threads."""

    def __init__(self, game: Game, config: Config, weights: LentWeights) -> None:
        self._game, self._config, self._weights = game, config, weights

    def decode(self, assignment: Assignment, data: bytes) -> Episode:
        """A game of an assignment. Nothing is allocated beyond the bytes."""
        try:
            episode = Episode.decode(data)
        except ZerofleetError as error:
            raise GameFault("unreadable", str(error)) from None
        if (
            episode.worker != assignment.worker
            or episode.sequence not in assignment.sequences
            or episode.game != self._game.name
        ):
            raise GameFault("not_assigned", f"assignment {assignment.id} has no such game")
        return episode

    def check_rules(self, assignment: Assignment, episode: Episode) -> None:
        """Whether the rules allow it, and all that needs no search is what its seed gives."""
        try:
            self._recheck(assignment, episode, [])
        except ZerofleetError as error:
            raise GameFault("forged", str(error), is_proof=True) from None

    def differing(self, assignment: Assignment, episode: Episode) -> list[bool]:
        """Searches every decision again; says for each whether it differs from the claimed one by
        more than the arithmetic of another device explains."""
        version = self._weights.get(assignment.version)
        if version is None:
            raise GameFault("unknown_weights", f"weights {assignment.version} are gone")
        numbers = [i for i, event in enumerate(episode.events) if event.outcomes_to_move]
        again = self._recheck(assignment, episode, numbers)
        while not again.finished:
            rows = again.gather()
            if len(rows):
                again.absorb(*version.evaluator(rows))
        searched = Episode.decode(again.episode()).events
        return [differs(episode.events[i], searched[i]) for i in numbers]

    def play(self, assignment: Assignment, sequence: int) -> bytes:
        """Plays a game that a browser did not return."""
        version = self._weights.get(assignment.version)
        if version is None:
            raise GameFault("unknown_weights", f"weights {assignment.version} are gone")
        driver = _core.SelfPlay(
            self._game,
            lent_settings(self._config, assignment.simulations),
            1, 1, 0, None,
            assignment.seed, assignment.worker, None, assignment.version, sequence, 1,
        )  # fmt: skip
        while not driver.finished:
            if (batch := driver.next_batch(PATIENCE_S)) is not None:
                group, observations = batch
                driver.submit(group, *version.evaluator(observations), assignment.version)
        (data,) = driver.take_episodes()
        driver.stop()
        return data

    def facts(self, assignment: Assignment, episode: Episode, **more: Any) -> LedgerGame:
        """What the ledger keeps of a game."""
        index = episode.outcome_first_player
        num_rows = 0 if index < 0 else len(episode.events) * (2 if self._game.hidden else 1)
        return LedgerGame(
            run=assignment.run,
            sequence=episode.sequence,
            account=assignment.account,
            device=assignment.device,
            num_rows=num_rows,
            num_simulations=sum(event.num_simulations for event in episode.events),
            num_plies=len(episode.events),
            first_won=index >= 0 and self._game.outcomes[index].reward > 0,
            **more,
        )

    def _recheck(
        self, assignment: Assignment, episode: Episode, numbers: list[int]
    ) -> "_core.Recheck":
        return _core.Recheck(
            self._game,
            lent_settings(self._config, assignment.simulations),
            None,
            assignment.seed,
            assignment.worker,
            assignment.version,
            episode,
            numbers,
        )


def differs(claimed: "_core.Event", searched: "_core.Event") -> bool:
    return (
        claimed.id != searched.id
        or claimed.num_simulations != searched.num_simulations
        or distance(dict(claimed.policy), dict(searched.policy)) > MAX_POLICY_DISTANCE
        or distance(
            dict(enumerate(claimed.outcomes_to_move)), dict(enumerate(searched.outcomes_to_move))
        )
        > MAX_OUTCOME_DISTANCE
    )


def distance(a: dict[int, float], b: dict[int, float]) -> float:
    """Total variation."""
    return sum(abs(a.get(each, 0.0) - b.get(each, 0.0)) for each in a.keys() | b.keys()) / 2
