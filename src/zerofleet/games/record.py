"""The record of a game: initial position, actions, chance outcomes and players."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from zerofleet._core import CHANCE, OVER, Episode, Game, Position
from zerofleet.games.registry import as_utf8


@dataclass(frozen=True)
class GameRecord:
    """One game, finished or not. Formats read and write it; see zerofleet.games.formats."""

    start: Position
    actions: tuple[int, ...] = ()
    """Actions and chance outcomes in the order they were played."""
    players: tuple[str, str] = ("", "")
    """Names of player 0 and player 1; empty where unknown."""
    awarded_first_player: float | None = None
    """The reward of player 0 in a game that ended early, by resignation or on time."""
    notes: tuple[str, ...] = ()
    """Content of the file that the record omits."""

    @classmethod
    def from_episode(
        cls, episode: Episode, game: Game, players: tuple[str, str] = ("", "")
    ) -> "GameRecord":
        start = episode.positions(game)[0]
        return cls(start, tuple(event.id for event in episode.events), players)

    @property
    def game(self) -> Game:
        return self.start.game

    def positions(self) -> list[Position]:
        """The position before each action, then the final one."""
        positions = [self.start]
        for action in self.actions:
            following = positions[-1].copy()
            following.play(action)
            positions.append(following)
        return positions

    @property
    def reward_first_player(self) -> float | None:
        """The reward of player 0; None if the game has not ended."""
        last = self.positions()[-1]
        return last.rewards()[0] if last.to_move == OVER else self.awarded_first_player

    def with_notes(self, notes: Iterable[str]) -> "GameRecord":
        return replace(self, notes=(*self.notes, *notes))


def actions_of_turn(position: Position, text: str) -> tuple[int, ...]:
    """The actions of a turn written as a whole: `8/5 6/5` is two."""
    text = as_utf8(text)
    if position.to_move == CHANCE:
        return (position.action_from_text(text),)
    after = position.copy()
    position.game.play_from_text(after, text)
    actions = actions_between(position, after)
    if actions is None:  # two positions of a custom game can have the same text
        return (position.action_from_text(text),)
    return actions


def turn_text(position: Position, actions: Iterable[int]) -> str:
    """A turn in its usual notation: 8/5 6/5."""
    texts = []
    position = position.copy()
    for action in actions:
        texts.append(position.action_text(action))
        position.play(action)
    return " ".join(texts)


def actions_between(position: Position, wanted: Position) -> tuple[int, ...] | None:
    """The actions of the player to move from one position to another; None if unreachable."""
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after == wanted:
            return (action,)
        if after.to_move == position.to_move:
            rest = actions_between(after, wanted)
            if rest is not None:
                return (action, *rest)
    return None
