"""Lists of a run's games, and single games ply by ply."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from zerofleet._core import CHANCE, OVER
from zerofleet.config import read
from zerofleet.games import Episode, Event, Game, Position
from zerofleet.runs.folder import find
from zerofleet.runs.logged_games import TRUNCATED, LoggedGame, LoggedGames
from zerofleet.web.episode_index import EpisodeIndex, Indexes
from zerofleet.web.errors import unknown
from zerofleet.web.play_schema import EpisodeDetail
from zerofleet.web.schema import EpisodeLine, EpisodeList, Outcome, Ply, PolicyEntry
from zerofleet.web.seen import (
    View,
    player_of,
    player_or_chance,
    position_text,
    seen,
    steps,
)

if TYPE_CHECKING:
    from zerofleet.web.games import Games

PolicyKind = Literal["visits", "improved"]
Order = Literal["newest", "longest", "surprising", "upset"]
SORT_BY = {"longest": "num_plies", "surprising": "surprise", "upset": "favourite_lost"}
MAX_FILTERS = 200
"""Versions and workers offered as filters."""
MAX_POLICY = 64
"""Actions of a policy that a page gets."""


class Episodes:
    """The games of all runs."""

    def __init__(self, games: "Games") -> None:
        self._games = games
        self._indexes = Indexes(self._new_index)

    def page(
        self,
        run: str,
        order: Order,
        version: int | None,
        worker: str | None,
        offset: int,
        limit: int,
    ) -> EpisodeList:
        found = find(run)
        index = self._indexes.of(found.facts.id, run)
        rows, is_complete = index.rows()
        chosen = filtered(rows, version, worker)
        page = sorted_rows(chosen, order, offset, limit)
        game = self._games.of_run(found)
        return EpisodeList(
            total=len(chosen),
            num_indexed=len(rows),
            num_played=int(rows["number"][-1]) + 1 if len(rows) else 0,
            is_complete=is_complete,
            versions=[int(each) for each in np.unique(rows["version"])[::-1][:MAX_FILTERS]],
            workers=[f"{int(each):x}" for each in np.unique(rows["worker"])[:MAX_FILTERS]],
            episodes=[line_of(row, game) for row in page],
        )

    def total(self, run: str) -> int:
        """Games in the index, as far as it is built."""
        return len(self._indexes.of(find(run).facts.id, run).rows(wait_s=0)[0])

    def detail(self, run: str, episode: str, view: View) -> EpisodeDetail:
        root = read(find(run).config_path).search.root
        policy_is: PolicyKind = "visits" if root == "puct" else "improved"
        return detail_of(self.find(run, episode), view, policy_is=policy_is)

    def position(self, run: str, episode: str, ply: int) -> Position:
        """The position before a ply."""
        return position_at(self.find(run, episode).positions(), ply)

    def find(self, run: str, episode: str) -> LoggedGame:
        """The game with this id or number."""
        found = find(run)
        if not re.fullmatch(r"[0-9a-f]{1,16}-[0-9]{1,20}|[0-9]{1,15}", episode):
            raise unknown(f"an episode is named WORKER-SEQUENCE or by its number; got {episode!r}")
        game = self._games.of_run(found)
        index = self._indexes.of(found.facts.id, run)
        rows, is_complete = index.rows()
        row = find_row(rows, episode)
        if row is not None and (data := index.read(row)) is not None:
            return LoggedGame(int(row["number"]), Episode.decode(data), game, run)
        if is_complete:
            raise unknown(f"no game {episode} in run:{run}; old games are removed as new ones come")
        return LoggedGames(found.episodes, game, run).find(episode)

    def _new_index(self, run: str) -> EpisodeIndex:
        found = find(run)
        return EpisodeIndex(found.episodes, self._games.of_run(found))


# ---- lists


def filtered(rows: NDArray[np.void], version: int | None, worker: str | None) -> NDArray[np.void]:
    if version is not None:
        rows = rows[rows["version"] == min(version, 2**32 - 1)]
    if worker is not None:
        rows = rows[rows["worker"] == np.uint64(int(worker, 16))]
    return rows


def sorted_rows(rows: NDArray[np.void], order: Order, offset: int, limit: int) -> Sequence[np.void]:
    """A page of the rows, the first in this order first; ties are newest first."""
    newest = rows[::-1]
    if order == "newest":
        return list(newest[offset : offset + limit])
    by = np.argsort(-newest[SORT_BY[order]].astype(np.float64), kind="stable")
    return list(newest[by[offset : offset + limit]])


def find_row(rows: NDArray[np.void], episode: str) -> np.void | None:
    worker, dash, sequence = episode.partition("-")
    if dash:
        if int(sequence) >= 2**64:
            return None
        is_it = (rows["worker"] == np.uint64(int(worker, 16))) & (
            rows["sequence"] == np.uint64(int(sequence))
        )
    else:
        is_it = rows["number"] == min(int(episode), 2**32 - 1)
    places = np.flatnonzero(is_it)
    return rows[places[-1]] if len(places) else None


def line_of(row: np.void, game: Game) -> EpisodeLine:
    outcome = int(row["outcome"])
    worker, sequence = int(row["worker"]), int(row["sequence"])
    return EpisodeLine(
        id=f"{worker:x}-{sequence}",
        number=int(row["number"]),
        worker=f"{worker:x}",
        sequence=sequence,
        version=int(row["version"]),
        num_plies=int(row["num_plies"]),
        result_first_player=game.outcomes[outcome].name if outcome >= 0 else TRUNCATED,
        reward_first_player=game.outcomes[outcome].reward if outcome >= 0 else None,
        surprise=round(float(row["surprise"]), 6),
        favourite_lost=min(1.0, round(float(row["favourite_lost"]), 6)),
    )


# ---- one game


def outcomes_of(game: Game) -> list[Outcome]:
    return [Outcome(name=each.name, reward=each.reward) for each in game.outcomes]


def position_at(positions: Sequence[Position], ply: int) -> Position:
    if ply >= len(positions):
        raise unknown(f"the game has {len(positions) - 1} plies; there is no position {ply}")
    return positions[ply]


def detail_of(
    played: LoggedGame,
    view: View,
    players: Sequence[str] = ("", ""),
    policy_is: PolicyKind | None = None,
) -> EpisodeDetail:
    """A game as a player or a spectator sees it."""
    positions = played.positions()
    outcome = played.episode.outcome_first_player
    return EpisodeDetail(
        id=played.id,
        number=played.number,
        run=played.run,
        game=played.game.name,
        options=played.game.options,
        view=view,
        players=list(players),
        policy_is=policy_is,
        outcomes=outcomes_of(played.game),
        result_first_player=played.result,
        reward_first_player=played.game.outcomes[outcome].reward if outcome >= 0 else None,
        plies=[
            ply_of(position, event, view)
            for position, event in zip(positions, played.episode.events, strict=False)
        ],
        positions=[seen(position, player_of(view)) for position in positions],
        position_texts=[position_text(position, player_of(view)) for position in positions],
    )


def ply_of(position: Position, event: Event, view: View) -> Ply:
    player = player_of(view)
    is_others = player is not None and position.to_move != player
    knows_search = not (position.game.hidden and is_others)
    outcomes = outcomes_at(position, event) if knows_search else {}
    policy = sorted(event.policy, key=lambda entry: -entry[1]) if knows_search else []
    is_full = event.kind == "full" and knows_search
    fields: dict[str, Any] = {"search": event.kind}
    return Ply(
        player=player_or_chance(position),
        action=event.id,
        text=position.action_text(event.id),
        version=event.version,
        num_simulations=event.num_simulations,
        policy=[
            PolicyEntry(
                action=action,
                text=position.action_text(action),
                probability=round(probability, 6),
            )
            for action, probability in policy[:MAX_POLICY]
        ],
        value_first_player=value_first_player(position, outcomes),
        outcomes_to_move=outcomes,
        surprise=round(event.surprise, 6) if is_full else None,
        steps=steps(position, event.id),
        **fields,
    )


def outcomes_at(position: Position, event: Event) -> dict[str, float]:
    """The distribution that the search found, in the view of the mover or the roller."""
    if event.num_simulations == 0:
        return {}
    names = [outcome.name for outcome in position.game.outcomes]
    return {
        name: round(chance, 6) for name, chance in zip(names, event.outcomes_to_move, strict=False)
    }


def value_first_player(position: Position, outcomes: dict[str, float]) -> float | None:
    if not outcomes:
        return None
    rewards = {outcome.name: outcome.reward for outcome in position.game.outcomes}
    value = sum(chance * rewards[name] for name, chance in outcomes.items())
    observer = position.roller if position.to_move == CHANCE else position.to_move
    if observer is None or position.to_move == OVER:
        return None
    return round(value if observer == 0 else -value, 6)
