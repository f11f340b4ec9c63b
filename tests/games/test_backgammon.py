"""Backgammon from Python, and its legal plays against real GNU Backgammon.

Solved endings and the comparison with a generator that tries everything are in
cpp/tests/test_backgammon.cc.
"""

import importlib.util
import random
from collections import Counter
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from outside_tools import needs_gnubg

import zerofleet as zf

ORACLES = Path(__file__).parent.parent / "oracles"
START = "4HPwATDgc/ABMA"

spec = importlib.util.spec_from_file_location("gnubg", ORACLES / "gnubg.py")
assert spec is not None
assert spec.loader is not None
gnubg = importlib.util.module_from_spec(spec)
spec.loader.exec_module(gnubg)

Question = tuple[zf.games.Position, int]  # a position before a roll, and the id of that roll


@pytest.fixture(scope="module")
def game() -> zf.games.Game:
    return zf.games.get("backgammon")


def ends_of_turn(position: zf.games.Position, player: int) -> list[zf.games.Position]:
    """Every position in which the player's turn can end, once per sequence of actions."""
    if position.to_move != player:
        return [position]
    ends = []
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        ends += ends_of_turn(after, player)
    return ends


def plays_of_roll(game: zf.games.Game, text: str) -> list[zf.games.Position]:
    position = game.from_text(text)
    return [] if position.to_move == zf.CHANCE else ends_of_turn(position, position.to_move)


def random_questions(game: zf.games.Game, count: int, seed: int) -> list[Question]:
    """Positions before a roll from random games, far apart, each with a roll."""
    rng = random.Random(seed)
    questions: list[Question] = []
    while len(questions) < count:
        position = game.new_position(seed=0)
        while position.to_move != zf.OVER and len(questions) < count:
            if position.to_move == zf.CHANCE:
                ids, probabilities = zip(*position.chance_outcomes(), strict=True)
                (chosen,) = rng.choices(ids, probabilities)
                if len(ids) == 21 and rng.random() < 0.05:
                    questions.append((position.copy(), chosen))
            else:
                chosen = rng.choice(position.legal_actions())
            position.play(chosen)
    return questions


def dice_of(question: Question) -> tuple[int, int]:
    position, roll = question
    text = position.action_text(roll)
    return int(text[0]), int(text[1])


def rolled(question: Question) -> zf.games.Position:
    position, roll = question
    after = position.copy()
    after.play(roll)
    return after


def passes(question: Question) -> bool:
    return rolled(question).to_move == zf.CHANCE


def mover(question: Question) -> int:
    player = question[0].describe()["player"]
    assert isinstance(player, int)
    return player


# ---- against GnuBG


@needs_gnubg
@pytest.mark.parametrize(("checkers", "count"), [(15, 1600), (3, 300), (2, 100)])
def test_the_legal_plays_are_those_of_gnubg(checkers: int, count: int) -> None:
    game = zf.games.get("backgammon", checkers=checkers)
    questions = random_questions(game, count, seed=checkers)
    asked = [(question[0].to_text().split()[0], dice_of(question)) for question in questions]
    for question, plays in zip(questions, gnubg.all_plays(asked), strict=True):
        ours = [] if passes(question) else ends_of_turn(rolled(question), mover(question))
        theirs = []
        for play in plays:
            after = rolled(question)
            game.play_from_text(after, play)
            theirs.append(after)
        assert Counter(p.to_text() for p in ours) == Counter(p.to_text() for p in theirs), (
            f"{question[0].to_text()} {dice_of(question)}"
        )


# ---- against what is known


@pytest.mark.parametrize(("roll", "count"), [("31", 16), ("22", 75), ("65", 7), ("11", 42)])
def test_the_plays_from_the_start_are_as_many_as_known(
    game: zf.games.Game, roll: str, count: int
) -> None:
    ends = plays_of_roll(game, f"{START} {roll}")
    assert len(ends) == len({end.to_text() for end in ends}) == count


def test_the_plays_from_the_start_are_447_over_all_rolls(game: zf.games.Game) -> None:
    before = game.from_text(START)
    rolls = [before.action_text(roll) for roll, _ in before.chance_outcomes()]
    assert sum(len(plays_of_roll(game, f"{START} {roll}")) for roll in rolls) == 447


def test_the_distinct_results_of_a_turn_are_as_many_as_another_engine_counts(
    game: zf.games.Game,
) -> None:
    rows = (ORACLES / "backgammon_play_counts.txt").read_text().splitlines()
    for row in rows:
        if row.startswith("#"):
            continue
        numbers = [int(word) for word in row.split()]
        mine, theirs, dice, count = numbers[:25], numbers[25:50], numbers[50:52], numbers[52]
        position = game.from_describe(
            {
                "points": [a - b for a, b in zip(mine[:24], reversed(theirs[:24]), strict=True)],
                "bar": [mine[24], theirs[24]],
                "off": [15 - sum(mine), 15 - sum(theirs)],
                "dice": dice,
                "player": 0,
            }
        )
        ends = [] if position.to_move == zf.CHANCE else ends_of_turn(position, 0)
        assert len(ends) == len({end.to_text() for end in ends}) == count, row


def home_of(position: zf.games.Position) -> tuple[int, ...]:
    """Player 0's checkers on its points 1 to 6."""
    points = position.describe()["points"]
    assert isinstance(points, list)
    return tuple(points[:6])


@pytest.mark.parametrize(
    ("points", "mean"),
    [((6,), Fraction(5, 4)), ((1, 1, 1), Fraction(11, 6)), ((6, 6), Fraction(49213, 23328))],
)
def test_the_mean_number_of_rolls_to_bear_off_is_the_known_one(
    game: zf.games.Game, points: tuple[int, ...], mean: Fraction
) -> None:
    @cache
    def mean_rolls(left: tuple[int, ...]) -> float:
        """`left`: checkers on player 0's points 1 to 6; the other player stays where it is."""
        if sum(left) == 0:
            return 0
        before = game.from_describe({"points": [*left, *[0] * 17, -15], "player": 0})
        mean = 1.0
        for roll, probability in before.chance_outcomes():
            ends = ends_of_turn(rolled((before, roll)), 0)
            mean += probability * min(mean_rolls(home_of(end)) for end in ends)
        return mean

    start = tuple(points.count(point) for point in range(1, 7))
    assert mean_rolls(start) == pytest.approx(float(mean), rel=1e-13)


# ---- the Python face


def test_the_facts_are_those_of_backgammon(game: zf.games.Game) -> None:
    assert game.num_actions == 150
    assert game.observation_bytes == 62
    assert [outcome.reward for outcome in game.outcomes] == [3, 2, 1, -1, -2, -3]


def test_a_new_game_opens_with_thirty_rolls_and_the_higher_die_starts(game: zf.games.Game) -> None:
    position = game.new_position(seed=7)
    assert position.to_text() == f"{START} opening"
    assert position.to_move == zf.CHANCE
    assert [probability for _, probability in position.chance_outcomes()] == [1 / 30] * 30
    position.play(position.action_from_text("26"))
    assert position.to_move == 1
    assert position.to_text() == f"{START} 62 p=1"


def test_a_whole_turn_is_played_from_text(game: zf.games.Game) -> None:
    for text in ["8/5 6/5", "6/5 8/5"]:
        position = game.from_text(f"{START} 31")
        game.play_from_text(position, text)
        assert position.to_text() == "sGfwATDgc/ABMA p=1"
        assert position.to_move == zf.CHANCE


def test_an_illegal_turn_names_the_legal_ones_and_changes_nothing(game: zf.games.Game) -> None:
    position = game.from_text(f"{START} 65")
    with pytest.raises(zf.errors.IllegalAction, match=r"with 65 left; legal: .*13/7 13/8"):
        game.play_from_text(position, "24/18 13/7")
    assert position.to_text() == f"{START} 65"


def test_a_description_makes_the_same_position(game: zf.games.Game) -> None:
    position = game.from_text(f"{START} 31 p=1")
    described = position.describe()
    assert described == {
        "points": [-2, 0, 0, 0, 0, 5, 0, 3, 0, 0, 0, -5, 5, 0, 0, 0, -3, 0, -5, 0, 0, 0, 0, 2],
        "bar": [0, 0],
        "off": [0, 0],
        "dice": [3, 1],
        "player": 1,
    }
    assert game.from_describe(described).to_text() == position.to_text()


def test_a_description_whose_checkers_do_not_add_up_is_refused(game: zf.games.Game) -> None:
    described = game.from_text(START).describe() | {"off": [1, 0]}
    with pytest.raises(zf.errors.Inconsistent, match=r"player 0 has 15 checkers .* and 1 off"):
        game.from_describe(described)


def test_only_known_numbers_of_checkers_are_offered() -> None:
    with pytest.raises(zf.errors.ZerofleetError, match="1, 2, 3"):
        zf.games.get("backgammon", checkers=4)


@pytest.mark.parametrize("checkers", [1, 2, 3, 15])
def test_check_finds_no_fault(checkers: int) -> None:
    report = zf.games.check(zf.games.get("backgammon", checkers=checkers), num_games=100)
    assert report.num_truncated == 0
