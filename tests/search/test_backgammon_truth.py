"""The search of backgammon against exact answers: last turns, endings and races.

Exact values come from the odds that every player knows, and from expectimax over the dice in here.
Checkers are given as their owner counts points; 25 is the bar.
"""

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import numpy as np
import pytest

import zerofleet as zf

Root = Literal["puct", "gumbel"]

FIFTEEN = zf.games.get("backgammon")
THREE = zf.games.get("backgammon", checkers=3)
ONE = zf.games.get("backgammon", checkers=1)
ROLLS = [(large, small) for large in range(1, 7) for small in range(1, large + 1)]

BEARS_OFF_TWO = {
    (1, 1): 36, (2, 1): 36, (2, 2): 26, (3, 1): 34, (3, 2): 25, (3, 3): 17, (4, 1): 29,
    (4, 2): 23, (4, 3): 17, (4, 4): 11, (5, 1): 23, (5, 2): 19, (5, 3): 14, (5, 4): 10,
    (5, 5): 6, (6, 1): 15, (6, 2): 13, (6, 3): 10, (6, 4): 8, (6, 5): 6, (6, 6): 4,
}  # fmt: skip
"""Of 36 rolls, those that bear off both of the last two checkers."""
BEARS_OFF_ONE = {1: 36, 2: 36, 3: 36, 4: 34, 5: 31, 6: 27}
"""Likewise of the last one."""


def position_of(
    game: zf.games.Game,
    mine: Sequence[int],
    theirs: Sequence[int],
    dice: Sequence[int] = (),
    player: int = 0,
) -> zf.games.Position:
    """The player, with checkers on `mine`, is to play the dice or about to roll."""
    points, bar = [0] * 24, [0, 0]
    for owner, checkers in ((player, mine), (1 - player, theirs)):
        for point in checkers:
            if point == 25:
                bar[owner] += 1
            elif owner == 0:
                points[point - 1] += 1
            else:
                points[24 - point] -= 1
    return game.from_describe({"points": points, "bar": bar, "dice": list(dice), "player": player})


def after(position: zf.games.Position, chosen: int) -> zf.games.Position:
    played = position.copy()
    played.play(chosen)
    return played


def ends_of_turn(position: zf.games.Position, player: int) -> Iterator[zf.games.Position]:
    if position.to_move != player:
        yield position
        return
    for action in position.legal_actions():
        yield from ends_of_turn(after(position, action), player)


def num_off(position: zf.games.Position, player: int) -> int:
    off: Any = position.describe()["off"]
    return int(off[player])


def has_hit(position: zf.games.Position, player: int) -> bool:
    bar: Any = position.describe()["bar"]
    return bool(bar[1 - player])


exact_values: dict[str, float] = {}


def exact_first_player(position: zf.games.Position) -> float:
    """Points that player 0 wins with best play. Only where checkers have passed each other."""
    if position.to_move == zf.OVER:
        return position.rewards()[0]
    text = f"{position.game.options} {position.to_text()}"
    if text not in exact_values:
        if position.to_move == zf.CHANCE:
            rolls = position.chance_outcomes()
            value = sum(p * exact_first_player(after(position, roll)) for roll, p in rolls)
        else:
            best = max if position.to_move == 0 else min
            actions = position.legal_actions()
            value = best(exact_first_player(after(position, action)) for action in actions)
        exact_values[text] = value
    return exact_values[text]


def exact_value(position: zf.games.Position, player: int) -> float:
    return exact_first_player(position) * (1 if player == 0 else -1)


# ---- the last turn

LAST_TURNS = [
    (mine, dice)
    for count in (2, 3, 4)
    for mine in itertools.combinations_with_replacement(range(1, 7), count)
    for dice in ROLLS
]


def last_turns(theirs: Sequence[int], player: int) -> Iterator[tuple[zf.games.Position, list[int]]]:
    """Positions in which the turn can end the game or not, with the first actions that go on to
    its end. The opponent will surely bear off next turn."""
    for mine, dice in LAST_TURNS:
        position = position_of(FIFTEEN, mine, theirs, dice, player)
        ending = [
            action
            for action in position.legal_actions()
            if any(end.to_move == zf.OVER for end in ends_of_turn(after(position, action), player))
        ]
        if 0 < len(ending) < len(position.legal_actions()):
            yield position, ending


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param([1], id="else the opponent wins"),
        pytest.param([1] * 15, id="a gammon, else a single game"),
    ],
)
def test_the_turn_that_wins_most_gets_nine_tenths_of_the_policy(
    theirs: list[int], player: int, root: Root
) -> None:
    num_positions = 0
    for position, ending in last_turns(theirs, player):
        num_simulations = 25 * len(position.legal_actions())
        analysis = zf.search.analyse(
            position, num_simulations=num_simulations, root=root, prove=False
        )
        assert analysis.best_action in ending, f"{position!r}\n{analysis}"
        assert sum(analysis.policy[action] for action in ending) > 0.9, f"{position!r}\n{analysis}"
        assert analysis.depth > 1
        num_positions += 1
    assert num_positions == 70


# ---- a loss in one


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("blot", [1, 2, 3])
def test_a_blot_that_would_bear_off_next_turn_is_hit(blot: int, player: int, root: Root) -> None:
    num_positions = 0
    for mine in itertools.combinations_with_replacement([25, 24, 23, 22, 8, 3], 2):
        if 25 - blot in mine:
            continue
        for dice in ROLLS:
            position = position_of(THREE, mine, [blot], dice, player)
            if position.to_move != player:
                continue
            hitting = [
                action
                for action in position.legal_actions()
                if any(
                    has_hit(end, player) for end in ends_of_turn(after(position, action), player)
                )
            ]
            if not 0 < len(hitting) < len(position.legal_actions()):
                continue
            analysis = zf.search.analyse(
                position,
                num_simulations=200 * len(position.legal_actions()),
                root=root,
                prove=False,
            )
            assert analysis.best_action in hitting, f"{position!r}\n{analysis}"
            num_positions += 1
    assert num_positions > 10


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
def test_the_gammon_is_saved_where_the_game_is_lost(player: int, root: Root) -> None:
    num_positions = 0
    for last, dice in itertools.product([7, 8, 9, 10], ROLLS):
        position = position_of(FIFTEEN, [last] + [6] * 7 + [5] * 7, [1], dice, player)
        saving = [
            action
            for action in position.legal_actions()
            if any(num_off(end, player) for end in ends_of_turn(after(position, action), player))
        ]
        if not 0 < len(saving) < len(position.legal_actions()):
            continue
        analysis = zf.search.analyse(
            position, num_simulations=500 * len(position.legal_actions()), root=root, prove=False
        )
        assert analysis.best_action in saving, f"{position!r}\n{analysis}"
        assert analysis.values_to_move[analysis.best_action] == pytest.approx(-1, abs=0.2)
        num_positions += 1
    assert num_positions > 10


# ---- endings


@pytest.mark.parametrize("player", [0, 1])
def test_the_value_of_one_roll_is_that_of_the_known_odds(player: int) -> None:
    # The opponent bears off its last checker with any roll: to win is to bear off both now.
    for mine, num_rolls in BEARS_OFF_TWO.items():
        position = position_of(FIFTEEN, mine, [1], player=player)
        odds = num_rolls / 18 - 1
        assert exact_value(position, player) == pytest.approx(odds, abs=1e-12)
        searched = zf.search.analyse(position, "playout", 10_000, prove=False).value_to_move
        assert searched == pytest.approx(odds, abs=0.03), mine
        uniform = zf.search.analyse(position, "uniform", 100_000, prove=False).value_to_move
        assert uniform == pytest.approx(odds, abs=0.03), mine


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_a_proven_value_is_the_exact_one(root: Root, player: int) -> None:
    num_proven = 0
    for mine, theirs in itertools.product([*BEARS_OFF_TWO, (6, 4, 1), (3, 3, 2)], [1, 3, 4, 6]):
        before = position_of(FIFTEEN, mine, [theirs], player=player)
        for position in [before, after(before, 1), after(before, 16)]:
            analysis = zf.search.analyse(position, num_simulations=3000, root=root, c_puct=20)
            if analysis.solved:
                exact = exact_value(position, player)
                assert analysis.value_to_move == pytest.approx(exact, abs=1e-5), position
                num_proven += 1
    assert num_proven > 50


def test_the_odds_of_a_proven_roll_are_those_that_are_known() -> None:
    # The opponent is down to its ace point, so nothing but this one roll decides.
    for point, num_rolls in BEARS_OFF_ONE.items():
        analysis = zf.search.analyse(position_of(FIFTEEN, [point], [1]), num_simulations=5000)
        assert analysis.solved
        assert analysis.value_to_move == pytest.approx(num_rolls / 18 - 1, abs=1e-5)


ENDINGS = [
    pytest.param([6, 5], [6], id="2 against 1"),
    pytest.param([6, 6], [6, 6], id="2 against 2"),
    pytest.param([5, 2], [6, 6], id="2 against 2, ahead"),
    pytest.param([3, 3, 3], [3, 3, 3], id="3 against 3"),
    pytest.param([6, 6, 6], [5, 5], id="3 against 2"),
    pytest.param([6, 6], [1] * 15, id="for a gammon"),
    pytest.param([3, 2], [4] * 14 + [19], id="for a backgammon"),
]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("mine", "theirs"), ENDINGS)
def test_the_searched_value_of_an_ending_is_near_the_exact_one(
    mine: list[int], theirs: list[int], player: int
) -> None:
    # Four standard deviations of so many games, and as much again for moves tried that are worse.
    position = position_of(FIFTEEN, mine, theirs, player=player)
    analysis = zf.search.analyse(position, "playout", 100_000, prove=False)
    assert analysis.value_to_move == pytest.approx(exact_value(position, player), abs=0.03)


@pytest.mark.parametrize(("root", "player"), [("puct", 0), ("gumbel", 1)])
@pytest.mark.parametrize(("mine", "theirs"), ENDINGS)
def test_the_play_chosen_in_an_ending_is_as_good_as_any(
    mine: list[int], theirs: list[int], player: int, root: Root
) -> None:
    for dice in ROLLS:
        position = position_of(FIFTEEN, mine, theirs, dice, player)
        while position.to_move == player:
            # A wide search, for choices that are worth a hundredth of a point.
            analysis = zf.search.analyse(
                position, "playout", 30_000, root=root, c_puct=3, prove=False
            )
            best = exact_value(position, player)
            position = after(position, analysis.best_action)
            assert exact_value(position, player) > best - 0.01, f"{position!r}\n{analysis}"


# ---- races without a choice


@pytest.mark.parametrize("num_simulations", [100, 300, 1000, 3000, 10_000, 30_000])
@pytest.mark.parametrize(("mine", "theirs"), [(6, 6), (7, 7), (9, 12), (12, 9), (12, 12)])
def test_the_value_of_a_race_is_right_within_its_statistical_error(
    mine: int, theirs: int, num_simulations: int
) -> None:
    # One checker each: random games from a leaf are as good as best play, so their mean is free of
    # bias, and dice that are dealt out evenly can only make it better than that of plain chance.
    position = position_of(ONE, [mine], [theirs])
    value = exact_first_player(position)
    deviation = np.sqrt((4 - value**2) / num_simulations)  # of a mean of games for ±2 points
    errors = [
        zf.search.analyse(
            position, "playout", num_simulations, seed=seed, prove=False
        ).value_to_move
        - value
        for seed in range(8)
    ]
    assert np.max(np.abs(errors)) < 4 * deviation
    assert abs(np.mean(errors)) < 4 * deviation / np.sqrt(len(errors))


# ---- contact, with one checker each


class Solved:
    """Exact values of all positions with one checker each, by iteration until nothing changes."""

    def __init__(self) -> None:
        start = position_of(ONE, [24], [24])
        reached = [start]
        self.numbers = {start.to_text(): 0}
        kinds, following, values = [], [], []
        for position in reached:
            rolls = [roll for roll, _ in position.chance_outcomes()]
            children = []
            for chosen in rolls or position.legal_actions():
                child = after(position, chosen)
                if self.numbers.setdefault(child.to_text(), len(reached)) == len(reached):
                    reached.append(child)
                children.append(self.numbers[child.to_text()])
            kinds.append(position.to_move)
            values.append(position.rewards()[0] if position.to_move == zf.OVER else 0)
            following.append((children or [0]) * 21)
        kind = np.array(kinds)
        following_21 = np.array([each[:21] for each in following])
        chances = np.array([chance for _, chance in start.chance_outcomes()])
        self.values_first_player = np.array(values, dtype=float)
        movers = [np.flatnonzero(kind == mover) for mover in (0, 1, zf.CHANCE)]
        change = 1.0
        while change > 1e-11:
            before = self.values_first_player.copy()
            for mover, rows in enumerate(movers):
                ahead = self.values_first_player[following_21[rows]]
                new = [ahead.max(axis=1), ahead.min(axis=1), ahead @ chances][mover]
                self.values_first_player[rows] = new
            change = np.abs(self.values_first_player - before).max()

    def value(self, position: zf.games.Position, player: int) -> float:
        value = float(self.values_first_player[self.numbers[position.to_text()]])
        return value if player == 0 else -value


@pytest.fixture(scope="module")
def solved() -> Solved:
    return Solved()


def test_the_exact_values_with_contact_are_the_known_ones(solved: Solved) -> None:
    start = position_of(ONE, [24], [24])
    assert solved.value(start, 0) == pytest.approx(0.452773137042, abs=1e-9)


CONTACTS = [(12, 16), (8, 18), (20, 4), (6, 22)]


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("mine", "theirs"), CONTACTS)
def test_the_searched_value_with_contact_is_near_the_exact_one(
    solved: Solved, mine: int, theirs: int, player: int
) -> None:
    position = position_of(ONE, [mine], [theirs], player=player)
    analysis = zf.search.analyse(position, "playout", 30_000, prove=False)
    assert analysis.value_to_move == pytest.approx(solved.value(position, player), abs=0.05)


@pytest.mark.parametrize("root", ["puct", "gumbel"])
@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize(("mine", "theirs"), [*CONTACTS, (13, 16), (15, 14), (22, 8)])
def test_the_play_chosen_with_contact_is_as_good_as_any(
    solved: Solved, mine: int, theirs: int, player: int, root: Root
) -> None:
    for dice in ROLLS:
        position = position_of(ONE, [mine], [theirs], dice, player)
        while position.to_move == player:
            analysis = zf.search.analyse(position, "playout", 3000, root=root, prove=False)
            best = solved.value(position, player)
            position = after(position, analysis.best_action)
            assert solved.value(position, player) > best - 0.01, f"{position!r}\n{analysis}"
