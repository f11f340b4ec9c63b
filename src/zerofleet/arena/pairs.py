"""Plays games in pairs: the same start and the same dice, the players' seats changed.

All games of a block go on together, so that a player is asked for many positions at once. What is
played depends on the match's seed, the pair's number and the players' answers alone.
"""

from collections.abc import Callable, Sequence
from random import Random
from threading import Event

from zerofleet._core import CHANCE, OVER
from zerofleet.arena.match_result import PlayedGame
from zerofleet.arena.player import Player
from zerofleet.config import MOST_SEED
from zerofleet.errors import IllegalAction, Inconsistent
from zerofleet.games import Episode, Game


class PairedGame:
    """A game in flight. `first_seat` is who the player named first is here: 0 or 1."""

    def __init__(
        self, game: Game, seed: int, pair: int, first_seat: int, opening: Sequence[int]
    ) -> None:
        self.pair = pair
        self.first_seat = first_seat
        self.match_seed = seed
        self.deal_seed = stream(seed, pair, "deal").randrange(MOST_SEED + 1)
        self.position = game.new_position(self.deal_seed)
        self.dice = stream(seed, pair, "dice")
        self.choice_seeds = stream(seed, pair, f"choices {first_seat}")
        self.ids: list[int] = []
        for action in opening:
            self.play(action)
        self.roll()

    def play(self, played: int) -> None:
        """Plays an action or a chance outcome."""
        self.position.play(played)
        self.ids.append(played)

    def roll(self) -> None:
        """Plays chance up to a player's turn."""
        while self.position.to_move == CHANCE and not self.was_cut_off:
            outcomes, probabilities = zip(*self.position.chance_outcomes(), strict=True)
            self.play(self.dice.choices(outcomes, probabilities)[0])

    @property
    def was_cut_off(self) -> bool:
        return self.position.to_move != OVER and len(self.ids) >= self.position.game.max_plies

    @property
    def goes_on(self) -> bool:
        return self.position.to_move != OVER and not self.was_cut_off

    def waits_for(self, named: int) -> bool:
        """Whether the player named first (0) or second (1) is to move."""
        return self.goes_on and self.position.to_move == (self.first_seat ^ named)

    def take_answer(self, player: Player, answer: int) -> None:
        """Plays what a player chose; never anything else."""
        try:
            if not isinstance(answer, int):
                raise IllegalAction(f"an action is a whole number, got {answer!r}")
            self.play(answer)
        except IllegalAction as error:
            raise IllegalAction(
                f"{player.name} (player {self.position.to_move}) made no legal move: {error}; "
                f"game {2 * self.pair + self.first_seat}, ply {len(self.ids)}, "
                f"position {self.position.to_text()!r}"
            ) from None
        self.roll()

    def result(self) -> PlayedGame:
        game = self.position.game
        episode = Episode.record(
            game, self.deal_seed, self.ids, self.match_seed, 2 * self.pair + self.first_seat
        )
        reward = 0.0 if self.was_cut_off else self.position.rewards()[self.first_seat]
        return PlayedGame(reward, self.was_cut_off, episode.encode())


def stream(seed: int, pair: int, purpose: str) -> Random:
    """Random numbers that belong to one pair and purpose."""
    return Random(f"{seed}, {pair}, {purpose}")


def play_pairs(
    game: Game,
    players: tuple[Player, Player],
    seed: int,
    openings: dict[int, Sequence[int]],
    on_moves: Callable[[int], None],
    stop: Event,
) -> list[PlayedGame]:
    """Plays the pairs whose numbers `openings` has, in its order; two games each.

    `on_moves` is told after each round of moves how many games ended in it. Returns early, with
    nothing, where `stop` is set by somebody else.
    """
    games = [
        PairedGame(game, seed, pair, first_seat, opening)
        for pair, opening in openings.items()
        for first_seat in (0, 1)
    ]
    in_flight = [each for each in games if each.goes_on]
    while in_flight:
        for named, player in enumerate(players):
            if stop.is_set():
                return []
            ask(player, [each for each in in_flight if each.waits_for(named)])
        still_under_way = [each for each in in_flight if each.goes_on]
        on_moves(len(in_flight) - len(still_under_way))
        in_flight = still_under_way
    return [each.result() for each in games]


def ask(player: Player, games: list[PairedGame]) -> None:
    """Lets a player make one move in each game."""
    if not games:
        return
    positions = [each.position.copy() for each in games]
    seeds = [each.choice_seeds.randrange(MOST_SEED + 1) for each in games]
    answers = player.choose_many(positions, seeds)
    if len(answers) != len(games):
        raise Inconsistent(
            f"{player.name} gave {len(answers)} actions for {len(games)} positions; "
            "it must give one for each"
        )
    for each, answer in zip(games, answers, strict=True):
        each.take_answer(player, answer)
