"""Games written in Python: one class each, with the same search and check as the others."""

import random

import numpy as np
import pytest
from kuhn import Kuhn, TossedKuhn, TwoQueens
from nim import Nim

import zerofleet as zf
from zerofleet.errors import BadText, IllegalAction, Inconsistent, RulesFailed


class Gamble:
    """Player 0 stops with nothing or rolls a die: 1 and 2 lose, the others win."""

    name = "gamble"
    num_actions = 2
    num_chance_outcomes = 6
    observation_bytes = 2
    max_plies = 2

    def __init__(self) -> None:
        self.to_move = 0
        self.reward = 0

    def legal_actions(self):
        return [0, 1]

    def chance_outcomes(self):
        return [(face, 1 / 6) for face in range(6)]

    def play(self, action):
        if self.to_move == zf.CHANCE:
            self.reward = 1 if action >= 2 else -1
            self.to_move = zf.OVER
        else:
            self.to_move = zf.CHANCE if action == 1 else zf.OVER

    def rewards(self):
        return [self.reward, -self.reward]

    def observe(self, player):
        return bytes([self.to_move, self.to_move == player])

    def copy(self):
        copied = type(self)()
        copied.to_move, copied.reward = self.to_move, self.reward
        return copied


@pytest.mark.parametrize("own", [Nim, Gamble, Kuhn, TossedKuhn])
def test_a_right_game_keeps_the_contract(own: type) -> None:
    report = zf.games.check(own, num_games=200)
    assert report.num_games == 200
    assert (report.num_resampling_tests > 0) == issubclass(own, Kuhn)


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("left", [5, 6, 7, 9, 10])
def test_nim_is_solved_from_both_seats(left: int, player: int, root: str) -> None:
    analysis = zf.search.analyse(Nim(left, player), num_simulations=2000, root=root)
    assert analysis.best_action == left % 4 - 1
    assert analysis.solved
    assert analysis.value_to_move == 1


def test_a_lost_nim_is_known_to_be_lost() -> None:
    analysis = zf.search.analyse(Nim(8), num_simulations=2000)
    assert analysis.solved
    assert analysis.value_to_move == -1


@pytest.mark.parametrize("evaluator", ["uniform", "hash", "playout"])
def test_a_gamble_is_worth_its_expectation(evaluator: str) -> None:
    analysis = zf.search.analyse(Gamble(), evaluator, num_simulations=200)
    assert analysis.best_action == 1
    assert analysis.value_to_move == pytest.approx(1 / 3, abs=1e-6)
    assert analysis.solved


@pytest.mark.parametrize("num_faces", [2, 3, 7, 10, 36])
@pytest.mark.parametrize("reward", [1, -1])
def test_what_every_roll_decides_alike_is_proven_exactly(reward: int, num_faces: int) -> None:
    class Sure(Gamble):
        num_chance_outcomes = num_faces

        def legal_actions(self):
            return [1]

        def chance_outcomes(self):
            return [(face, 1 / num_faces) for face in range(num_faces)]

        def play(self, action):
            super().play(action)
            self.reward = reward

    analysis = zf.search.analyse(Sure(), num_simulations=100)
    assert analysis.solved
    assert analysis.value_to_move == reward


@pytest.mark.parametrize(
    ("card", "answer"), [(0, "pass"), (2, "bet")], ids=["jack folds", "king calls"]
)
@pytest.mark.parametrize("played", ["1", "01"])
def test_a_bet_is_answered_according_to_the_players_own_card(
    card: int, answer: str, played: str
) -> None:
    cards = [1, 1, 1 if card else 2]
    cards[len(played) % 2] = card
    cards[2] = 3 - cards[0] - cards[1]
    analysis = zf.search.analyse(Kuhn(cards=cards, played=played), num_simulations=300)
    assert analysis.position.action_text(analysis.best_action) == answer
    worth = 2 if card == 2 else -1
    assert analysis.values_to_move[analysis.best_action] == pytest.approx(worth, abs=1e-6)


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_what_a_player_cannot_see_does_not_change_its_search(root: str) -> None:
    against_jack, against_king = (
        zf.search.analyse(Kuhn(cards=[1, card, 2 - card]), "playout", 500, root=root)
        for card in (0, 2)
    )
    assert against_jack.visits == against_king.visits
    assert against_jack.value_to_move == against_king.value_to_move


def test_the_position_given_is_left_alone() -> None:
    position = Nim()
    zf.search.analyse(position, num_simulations=100)
    assert (position.left, position.to_move) == (10, 0)


def test_a_callable_evaluates_it_too() -> None:
    def evaluate(observations):
        assert observations.shape[1] == 2
        return np.zeros((len(observations), 3), np.float32), np.full(
            (len(observations), 3), 1 / 3, np.float32
        )

    analysis = zf.search.analyse(Nim(), evaluate, num_simulations=500)
    assert analysis.visits == zf.search.analyse(Nim(), "uniform", num_simulations=500).visits


def test_its_games_and_positions_have_the_interface_of_built_in_ones() -> None:
    game = zf.games.from_class(Nim)
    position = game.new_position()
    position.play(position.action_from_text("2"))
    assert (game.name, game.num_actions, position.to_text()) == ("nim", 3, "2")
    assert game.from_text("2") == position
    assert game.from_describe(position.describe()) == position
    assert position.observe(1).tolist() == [7, 1]
    assert position.describe(1) == {"observation": [7, 1]}
    with pytest.raises(IllegalAction, match="action 3 is not legal here; legal: 0, 1, 2 "):
        position.play(3)
    game = zf.games.from_class(Kuhn)
    assert game.new_position(seed=4) == game.new_position(seed=4)
    assert game.from_text("012/0").action_from_text("bet") == 1


def test_dealt_games_without_their_own_text_are_written_as_seed_and_ids() -> None:
    class Dealt(Nim):
        def __init__(self, seed: int = 0, **state) -> None:
            super().__init__(**({"left": 5 + seed % 5} | state))

        def copy(self):
            return Dealt(left=self.left, to_move=self.player)

    zf.games.check(Dealt, num_games=50)
    game = zf.games.from_class(Dealt)
    position = game.new_position(seed=3)
    position.play(0)
    assert position.to_text().startswith("seed=")
    assert game.from_text(position.to_text()) == position
    with pytest.raises(BadText, match="'0 1' must begin with the seed"):
        game.from_text("0 1")
    with pytest.raises(BadText, match="must be ids"):
        zf.games.from_class(Nim).from_text("0 one")


def test_a_text_that_is_not_of_a_legal_action_is_refused() -> None:
    class Worded(Nim):
        def action_text(self, action):
            return f"take {action + 1}"

        def action_from_text(self, text):
            return int(text.split()[1]) - 1

    game = zf.games.from_class(Worded)
    position = game.from_text("2 2 2")  # one stick is left
    for refused in (position.action_from_text, lambda text: game.play_from_text(position, text)):
        with pytest.raises(IllegalAction, match="'take 2' is not legal here; legal: take 1 "):
            refused("take 2")
    game.play_from_text(position, "take 1")
    assert position.to_move == zf.OVER


def test_an_exception_in_the_users_code_comes_out_as_it_is() -> None:
    class OutOfSticksError(Exception):
        pass

    class Broken(Nim):
        def play(self, action):
            if self.left < 5:
                raise OutOfSticksError("no sticks")
            super().play(action)

    with pytest.raises(OutOfSticksError, match="no sticks"):
        zf.search.analyse(Broken())
    with pytest.raises(RulesFailed, match="game 0, ply 4: OutOfSticksError: no sticks") as failed:
        zf.games.check(Broken)
    assert isinstance(failed.value.__cause__, OutOfSticksError)


def test_ctrl_c_in_the_users_code_comes_out() -> None:
    class Interrupted(Nim):
        def observe(self, player):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        zf.search.analyse(Interrupted())


def changed(base: type, **members: object) -> type:
    return type("Changed", (base,), members)


def shuffle_in_the_order_held(self: Kuhn, player: int, seed: int) -> None:
    unseen = [self.cards[1 - player], self.cards[2]]
    random.Random(seed).shuffle(unseen)
    self.cards[1 - player], self.cards[2] = unseen


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (
            changed(Nim, legal_actions=lambda self: [0, 3]),
            r"legal_actions\(\) gave 3; action ids are 0…2",
        ),
        (changed(Nim, legal_actions=lambda self: [1, 1]), r"legal_actions\(\) gave 1 twice"),
        (changed(Nim, legal_actions=lambda self: []), r"legal_actions\(\) is empty, but player 0"),
        (changed(Nim, legal_actions=lambda self: ["a"]), r"legal_actions\(\) must give whole"),
        (changed(Nim, to_move=7), "to_move must be 0, 1, zerofleet.CHANCE or zerofleet.OVER"),
        (changed(Nim, to_move=lambda self: 0), "to_move must be .* got <bound method"),
        (changed(Nim, rewards=lambda self: [0.5, -0.5]), r"rewards\(\) gave \[0.5, -0.5\]; the "),
        (changed(Nim, rewards=lambda self: [1]), r"rewards\(\) must give two numbers"),
        (
            changed(Nim, rewards=lambda self: [1, 1]),
            "outcomes are not each other's opposite: win for the first, win for the second",
        ),
        (
            changed(Nim, observe=lambda self, player: np.zeros(2)),
            r"observe\(0\) gave 16 bytes, observation_bytes is 2 \(an array must be of uint8\)",
        ),
        (changed(Nim, copy=lambda self: 3), r"copy\(\) must give its own class, got 3"),
        (changed(Nim, copy=lambda self: self), r"playing on a copy\(\) changed"),
        (changed(Nim, max_plies=3), r"game 0, end: the game is not over after max_plies \(3\)"),
        (
            changed(Gamble, chance_outcomes=lambda self: [(0, 0.5)]),
            r"probabilities add up to 0\.50* instead of 1",
        ),
        (
            changed(Kuhn, observe=lambda self, player: [*self.cards[:2], 0, 0, 0]),
            "resampling what player . cannot see changes its observation",
        ),
        (
            changed(Kuhn, resample_hidden=shuffle_in_the_order_held),
            "the hidden state before resampling leaks",
        ),
        (
            changed(Kuhn, resample_hidden=lambda self, player, seed: None),
            "resampling is not uniform",
        ),
        (
            changed(
                Kuhn,
                resample_hidden=lambda self, player, seed: Kuhn.resample_hidden(
                    self, player, seed if seed % 3 else 0
                ),
            ),
            "resampling is not uniform",
        ),
        (
            changed(TossedKuhn, chance_outcomes=lambda self: [(self.cards[2], 1)]),
            "resampling what player . cannot see changes the chance outcomes; .* the deal",
        ),
        (TwoQueens, "hidden_groups has the item 1 twice in a group; the items .* must differ"),
        (
            changed(Kuhn, from_text=classmethod(lambda cls, text: cls(cards=[0, 1, 2]))),
            "the text '.*' is not read back",
        ),
    ],
)
def test_a_broken_promise_is_found_and_named(own: type, message: str) -> None:
    with pytest.raises(Inconsistent, match=message) as caught:
        zf.games.check(own, num_games=200)
    assert str(caught.value).startswith(f"{own.name}: ")


@pytest.mark.parametrize(
    ("own", "message"),
    [
        (object, "object is not a game: it needs name, a string of 1 to 64 bytes, got None"),
        (changed(Nim, name="é" * 33), "needs name, a string of 1 to 64 bytes, got 'é"),
        (
            changed(Nim, num_actions=0),
            "Changed is not a game: it needs num_actions, an integer from 1 to 65535, got 0",
        ),
        (changed(Nim, max_plies="ten"), "needs max_plies, an integer .* got 'ten'"),
        (
            changed(Nim, max_plies=65537),
            "needs max_plies, an integer from 1 to 65536, got 65537",
        ),
        (changed(Nim, rewards=None), "it lacks the method rewards"),
        (changed(Nim, hidden=True), "it lacks the method resample_hidden"),
        (changed(Kuhn, hidden=False), "it has resample_hidden but not hidden = True"),
        (changed(Gamble, num_chance_outcomes=0), "has chance_outcomes but not num_chance_outcomes"),
        (changed(Nim, to_text=lambda self: ""), "it lacks the method from_text"),
        (changed(Nim, outcomes=[("win", 1), ("loss", -2)]), "reward 1.0 but none of -1.0"),
        (changed(Nim, outcomes=[("a", 1), ("b", 1), ("c", -1)]), "two outcomes of reward 1.0"),
        (Nim(), "a game is a Game or a class, got <"),
    ],
)
def test_a_class_that_is_not_a_game_is_refused_with_what_it_lacks(own: type, message: str) -> None:
    with pytest.raises(BadText, match=message):
        zf.games.check(own)
