"""Plays games in pairs: the same start and the same dice, seats swapped.

All games of a block run concurrently, so a player gets many positions per call. The games depend
only on the seed of the match, the index of the pair and the players' answers.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event

from zerofleet._core import CHANCE, OVER
from zerofleet.arena import draws
from zerofleet.arena.match_result import PlayedGame
from zerofleet.arena.player import Player
from zerofleet.errors import IllegalAction, Inconsistent
from zerofleet.games import Episode, Game, Position


class PairedGame:
    """A game in flight. `first_seat` is the seat (0 or 1) of the player named first."""

    def __init__(
        self, game: Game, seed: int, pair: int, first_seat: int, opening: Sequence[int]
    ) -> None:
        self.pair = pair
        self.first_seat = first_seat
        self.match_seed = seed
        self.deal_seed = draws.deal_seed(seed, pair)
        self.position = game.new_position(self.deal_seed)
        self.num_rolls = 0
        self.ids: list[int] = []
        for action in opening:
            self.play(action)
        self.roll()

    def play(self, played: int) -> None:
        """Plays an action or a chance outcome."""
        self.position.play(played)
        self.ids.append(played)

    def roll(self) -> None:
        """Samples chance outcomes until a player is to move."""
        while self.position.to_move == CHANCE and not self.was_truncated:
            outcomes = self.position.chance_outcomes()
            self.play(draws.drawn_outcome(outcomes, self.match_seed, self.pair, self.num_rolls))
            self.num_rolls += 1

    def choice_seed(self) -> int:
        """With which the player to move chooses."""
        return draws.choice_seed(self.match_seed, self.pair, self.first_seat, len(self.ids))

    @property
    def was_truncated(self) -> bool:
        return self.position.to_move != OVER and len(self.ids) >= self.position.game.max_plies

    @property
    def in_progress(self) -> bool:
        return self.position.to_move != OVER and not self.was_truncated

    def waits_for(self, named: int) -> bool:
        """Whether the player named first (0) or second (1) is to move."""
        return self.in_progress and self.position.to_move == (self.first_seat ^ named)

    def take_answer(self, player: Player, answer: int) -> None:
        """Plays a player's choice; an illegal one raises."""
        try:
            if not isinstance(answer, int):
                raise IllegalAction(f"an action is an integer, got {answer!r}")
            self.play(answer)
        except IllegalAction as error:
            raise IllegalAction(
                f"{player.name} (player {self.position.to_move}) made an illegal move: {error}; "
                f"game {2 * self.pair + self.first_seat}, ply {len(self.ids)}, "
                f"position {self.position.to_text()!r}"
            ) from None
        self.roll()

    def result(self) -> PlayedGame:
        game = self.position.game
        episode = Episode.record(
            game, self.deal_seed, self.ids, self.match_seed, 2 * self.pair + self.first_seat
        )
        reward = 0.0 if self.was_truncated else self.position.rewards()[self.first_seat]
        return PlayedGame(reward, self.was_truncated, episode.encode())


@dataclass(frozen=True)
class Decision:
    """A position in which a player chose an action."""

    named: int
    """Whose it was: of the player named first (0) or second (1)."""
    position: Position
    seed: int
    action: int


def decisions_of(start: PairedGame, ids: Sequence[int]) -> list[Decision]:
    """Plays a game as `ids` says, its actions and chance outcomes; returns what its players chose.

    Raises where the rules do not allow it, or where what is not a player's choice is not what the
    seed of the match gives.
    """
    decisions = []
    while start.in_progress and len(start.ids) < len(ids):
        action = ids[len(start.ids)]
        named = start.position.to_move ^ start.first_seat
        decisions.append(Decision(named, start.position.copy(), start.choice_seed(), action))
        start.play(action)
        start.roll()
    if start.in_progress:
        raise Inconsistent(f"the game ends after {len(ids)} plies, before it is over")
    if start.ids != list(ids):
        raise Inconsistent("opening, dice or length are not those of the match")
    return decisions


def play_pairs(
    game: Game,
    players: tuple[Player, Player],
    seed: int,
    openings: dict[int, Sequence[int]],
    on_moves: Callable[[int], None],
    stop: Event,
) -> list[PlayedGame]:
    """Plays two games for each pair index in `openings`, in its order.

    `on_moves` gets the number of games that ended, after each round of moves. Returns an empty list
    early if another thread sets `stop`.
    """
    games = [
        PairedGame(game, seed, pair, first_seat, opening)
        for pair, opening in openings.items()
        for first_seat in (0, 1)
    ]
    in_flight = [each for each in games if each.in_progress]
    while in_flight:
        for named, player in enumerate(players):
            if stop.is_set():
                return []
            ask(player, [each for each in in_flight if each.waits_for(named)])
        still_in_flight = [each for each in in_flight if each.in_progress]
        on_moves(len(in_flight) - len(still_in_flight))
        in_flight = still_in_flight
    return [each.result() for each in games]


def ask(player: Player, games: list[PairedGame]) -> None:
    """Asks a player for one move in each game."""
    if not games:
        return
    positions = [each.position.copy() for each in games]
    seeds = [each.choice_seed() for each in games]
    answers = player.choose_many(positions, seeds)
    if len(answers) != len(games):
        raise Inconsistent(
            f"{player.name} returned {len(answers)} actions for {len(games)} positions; "
            "it must return one for each"
        )
    for each, answer in zip(games, answers, strict=True):
        each.take_answer(player, answer)
