"""Checks rating games of browsers: by the rules and the seed, and by asking the players again.

A tab sends the actions and chance outcomes of a game; the episode is recorded here. Deal, dice,
opening and a random player's moves follow from the seed of the match, and playouts give the same
bits everywhere, so another move of these is a proof. A network's decision is searched again with
its version and seed, and differs where another action is best.

A rating that is recorded cannot be taken back, so more of these games are searched again than of
those that train: one in eight, also of trusted senders, and all of a portion if one of them
differs. A game that differs is played here in its place.
"""

from collections.abc import Sequence

from zerofleet.arena.pairs import Decision, PairedGame, ask, decisions_of
from zerofleet.arena.player import Player
from zerofleet.arena.search_players import SearchPlayer
from zerofleet.arena.simple_players import RandomPlayer
from zerofleet.errors import ZerofleetError
from zerofleet.games import Game
from zerofleet.web.lend.checks import GameFault
from zerofleet.web.lend.matches import BlockPlayer, Portion

CHECK_PROBABILITY = 1 / 8
"""At least, of a game."""


class PlayedPortion:
    """The games of a portion as a tab sent them. What needs no search is checked."""

    def __init__(self, game: Game, portion: Portion, games: Sequence[Sequence[int]]) -> None:
        self._game, self._portion, self._players = game, portion, portion.of.players
        if len(games) != 2 * len(portion.pairs):
            raise GameFault(
                "incomplete", f"{2 * len(portion.pairs)} games are due, got {len(games)}"
            )
        self.differ: list[int] = []
        """Games that were searched again and differ."""
        self.episodes: list[bytes] = []
        self._decisions: list[list[Decision]] = []
        for (seed, number), ids in zip(portion.ids, games, strict=True):
            pair, first_seat = divmod(number, 2)
            played = PairedGame(game, seed, pair, first_seat, portion.of.opening(pair))
            try:
                decisions = decisions_of(played, ids)
            except ZerofleetError as error:
                raise GameFault("forged", f"game {number}: {error}", is_proof=True) from None
            drawn = [each for each in decisions if self._players[each.named].text == "random"]
            if answers_of(RandomPlayer(), drawn) != [each.action for each in drawn]:
                reason = f"game {number}: the random player's moves are not those of its seed"
                raise GameFault("forged", reason, is_proof=True)
            self._decisions.append(decisions)
            self.episodes.append(played.result().episode)

    def differing(self, number: int) -> list[bool]:
        """Asks for every decision of a game again; says of each that a network searched whether
        another action is best."""
        differ = []
        for named, player in enumerate(self._players):
            decisions = [
                each
                for each in self._decisions[number]
                if each.named == named and len(each.position.legal_actions()) > 1
            ]
            if not decisions or player.text == "random":
                continue
            answers = answers_of(player_of(player), decisions)
            others = [
                each.action != answer for each, answer in zip(decisions, answers, strict=True)
            ]
            if player.weights is None:
                if any(others):
                    reason = "playouts with this seed find another move"
                    raise GameFault("forged", reason, is_proof=True)
            else:
                differ += others
        if any(differ):
            self.differ.append(number)
        return differ

    def play_again(self, number: int) -> None:
        """Plays a game here, in place of the one that came."""
        seed, game_number = self._portion.ids[number]
        pair, first_seat = divmod(game_number, 2)
        game = PairedGame(self._game, seed, pair, first_seat, self._portion.of.opening(pair))
        players = [player_of(each) for each in self._players]
        while game.in_progress:
            for named, player in enumerate(players):
                ask(player, [game] if game.waits_for(named) else [])
        self.episodes[number] = game.result().episode


def player_of(player: BlockPlayer) -> Player:
    if player.text == "random":
        return RandomPlayer()
    num_simulations = int(player.wire.settings["num_simulations"])
    if player.weights is None:
        return SearchPlayer(player.text, "playout", num_simulations)
    return SearchPlayer(player.text, player.weights.evaluator, num_simulations)


def answers_of(player: Player, decisions: Sequence[Decision]) -> list[int]:
    return player.choose_many(
        [each.position for each in decisions], [each.seed for each in decisions]
    )
