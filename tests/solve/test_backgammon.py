"""Bear-off and hypergammon tables against known values, GnuBG's databases and the game's rules."""

import itertools
import subprocess
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray
from outside_tools import needs_gnubg

import zerofleet as zf
from zerofleet.arena import gnubg
from zerofleet.errors import BadText, IllegalAction, Unsupported
from zerofleet.games import Game, Position
from zerofleet.solve import backgammon, tables

FIFTEEN = zf.games.get("backgammon")
GNUBG_TWO_SIDED = Path("/var/lib/gnubg/gnubg_ts0.bd")
"""Debian's package makes it when it is installed: six checkers on six points, both sides."""
HEADER_BYTES = 40
REWARDS = np.array([3, 2, 1, -1, -2, -3])


def hypergammon(checkers: int) -> Game:
    return zf.games.get("backgammon", checkers=checkers)


def position_of(
    game: Game,
    mine: Sequence[int],
    theirs: Sequence[int],
    dice: Sequence[int] = (),
    player: int = 0,
) -> Position:
    """The player, with checkers on `mine`, is to play the dice or about to roll. Each side counts
    points itself; 25 is the bar."""
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


def outcomes_of(position: Position) -> list[float]:
    value = zf.solve.value(position)
    assert value is not None, position
    return value


def reward_of(position: Position) -> float:
    return float(np.dot(REWARDS, outcomes_of(position)))


# ---- bear-off

KNOWN_MEANS = {
    (0, 0, 0, 0, 0, 0): Fraction(0),
    (1, 0, 0, 0, 0, 0): Fraction(1),
    (0, 0, 0, 0, 0, 1): Fraction(5, 4),
    (3, 0, 0, 0, 0, 0): Fraction(11, 6),
    (0, 0, 0, 0, 0, 2): Fraction(49213, 23328),
}


def test_mean_rolls_are_the_known_ones() -> None:
    for counts, mean in KNOWN_MEANS.items():
        rolls = zf.solve.bearoff_rolls(counts)
        assert rolls.mean == pytest.approx(float(mean), abs=1e-12), counts
        assert sum(rolls.distribution) == pytest.approx(1, abs=1e-12)
    # Of 36 rolls, 27 bear off a checker on the six point; a second roll always does.
    assert zf.solve.bearoff_rolls([0, 0, 0, 0, 0, 1]).distribution == pytest.approx([0, 0.75, 0.25])
    # Without doubles two of the ace point go each roll.
    assert zf.solve.bearoff_rolls([15, 0, 0, 0, 0, 0]).distribution[8] == pytest.approx(
        (5 / 6) ** 7
    )


@pytest.mark.parametrize("counts", [[1], [0] * 7, [16, 0, 0, 0, 0, 0], [-1, 0, 0, 0, 0, 1]])
def test_counts_that_are_no_bear_off_are_refused(counts: list[int]) -> None:
    with pytest.raises(BadText, match="the checkers on the points 1 to 6"):
        zf.solve.bearoff_rolls(counts)


def all_homes(checkers: int) -> list[tuple[int, ...]]:
    """Up to so many checkers on six points, in the order of the tables."""
    homes = itertools.combinations_with_replacement(range(7), checkers)
    in_order = sorted(tuple(sorted(points, reverse=True)) for points in homes)
    return [tuple(points.count(point) for point in range(1, 7)) for points in in_order]


def table_bytes(checkers: int) -> bytes:
    """From the cache; a process that built the table inside a search did not keep it there."""
    name = backgammon.name_of(checkers)
    if tables.read(name, backgammon.VERSION) is None:
        backgammon.build(checkers, lambda num_sweeps, change: None)
    kept = tables.read(name, backgammon.VERSION)
    assert kept is not None
    return kept


def two_sided() -> NDArray[np.float64]:
    """Probabilities to win, [other, roller]."""
    assert backgammon.require_table(15)
    return np.frombuffer(table_bytes(backgammon.STANDARD), np.float64)[-924 * 924 :].reshape(
        924, 924
    )


def numbers_of_gnubg(
    sides: Sequence[Sequence[int]], slots: int, checkers: int
) -> NDArray[np.int64]:
    """A database numbers the ways to set as many of the bits as there are slots, in their order:
    the checkers of each slot are zeros that follow its bit, the lowest slot first."""
    bits = slots + checkers
    patterns = sorted(
        sum(1 << place for place in places) for places in itertools.combinations(range(bits), slots)
    )
    number = {pattern: at for at, pattern in enumerate(patterns)}
    return np.array([number[int("".join("1" + "0" * n for n in side), 2)] for side in sides])


@needs_gnubg
@pytest.mark.skipif(not GNUBG_TWO_SIDED.exists(), reason=f"no {GNUBG_TWO_SIDED}")
def test_two_sided_values_are_those_of_gnubgs_database() -> None:
    raw = np.frombuffer(GNUBG_TWO_SIDED.read_bytes()[HEADER_BYTES:], "<u2").reshape(924, 924, 4)
    step = 1 / 32767.5  # of an equity, in sixteen bits
    equity = raw[:, :, 0] * step - 1
    at = numbers_of_gnubg(all_homes(6), 6, 6)
    ours = 2 * two_sided()[1:, 1:] - 1
    error = equity[np.ix_(at, at)].T[1:, 1:] - ours
    # It works its values out from each other as it rounds them: a few steps in the end.
    assert np.abs(error).max() < 4 * step
    assert np.abs(error).mean() < 2 * step


@needs_gnubg
def test_values_are_those_that_gnubg_evaluates() -> None:
    random = Random(1)
    engine = gnubg.Gnubg(plies=0)
    try:
        for _ in range(30):
            sides = [[random.randint(1, 6) for _ in range(random.randint(1, 6))] for _ in range(2)]
            for player in (0, 1):
                position = position_of(FIFTEEN, *sides, player=player)
                evaluated = engine.evaluate(position).outcomes_on_roll
                assert outcomes_of(position) == pytest.approx(evaluated, abs=1e-4), position
    finally:
        engine.close()


def test_with_dice_the_value_is_that_of_the_best_play() -> None:
    # Three on the ace point: only a double takes all of them off before the other is done.
    for dice, wins in (((6, 5), 0), ((6, 6), 1)):
        position = position_of(FIFTEEN, [1, 1, 1], [1], dice)
        assert outcomes_of(position) == [0, 0, wins, 1 - wins, 0, 0]
    # 2-1 with checkers on 6 and 2: one off leaves one on 5, gone by 31 of 36 throws; any other play
    # leaves two, gone by 29 at most. The other is done at once by a double, else in two rolls.
    position = position_of(FIFTEEN, [6, 2], [1, 1, 1], [2, 1])
    assert outcomes_of(position)[2] == pytest.approx(5 / 6 * 31 / 36, abs=1e-12)
    best = zf.solve.best_actions(position)
    assert best is not None
    assert {position.action_text(action) for action in best} <= {"2/off", "6/5"}


@pytest.mark.parametrize("player", [0, 1])
def test_a_value_is_in_the_view_of_the_player_to_move(player: int) -> None:
    ahead = position_of(FIFTEEN, [1], [6] * 5, player=player)
    behind = position_of(FIFTEEN, [6] * 5, [1], player=player)
    assert outcomes_of(ahead) == [0, 0, 1, 0, 0, 0]
    assert outcomes_of(behind) == [0, 0, 0, 1, 0, 0]


def test_where_no_table_reaches_there_is_no_value() -> None:
    for mine, theirs in (([6] * 7, [6] * 6), ([6] * 6, [7]), ([25], [1])):
        position = position_of(FIFTEEN, mine, theirs)
        assert zf.solve.value(position) is None
        assert zf.solve.plies_to_end(position) is None
    assert zf.solve.value(FIFTEEN.new_position()) is None
    # One roll before the table begins, with dice that are sure to lead there.
    assert zf.solve.value(position_of(FIFTEEN, [1] * 7, [6] * 6, [2, 1])) is not None
    with pytest.raises(IllegalAction, match="chance is to move"):
        zf.solve.best_actions(FIFTEEN.new_position())


def test_the_estimate_of_a_race_is_near_the_exact_value() -> None:
    exact, homes = two_sided(), all_homes(6)
    random, errors = Random(1), []
    for _ in range(2000):
        roller, other = random.randint(1, 923), random.randint(1, 923)
        mine, theirs = (
            [point for point, n in enumerate(homes[side], 1) for _ in range(n)]
            for side in (roller, other)
        )
        estimate = zf.solve.bearoff_win_estimate(position_of(FIFTEEN, mine, theirs))
        assert estimate is not None
        errors.append(estimate - exact[other, roller])
    # Over all positions: 0.0009 on average, 0.014 at most.
    assert np.abs(errors).mean() < 0.0011
    assert 0 < np.abs(errors).max() < 0.014


def test_the_estimate_reaches_fifteen_checkers_and_no_further() -> None:
    estimate = zf.solve.bearoff_win_estimate(position_of(FIFTEEN, [6] * 15, [6] * 15))
    assert estimate is not None
    assert 0.5 < estimate < 1
    assert zf.solve.bearoff_win_estimate(position_of(FIFTEEN, [6] * 6, [6] * 6, [2, 1])) is None
    assert zf.solve.bearoff_win_estimate(FIFTEEN.new_position()) is None


# ---- hypergammon


@pytest.mark.parametrize("player", [0, 1])
def test_the_start_with_one_checker_has_the_known_value(player: int) -> None:
    start = position_of(hypergammon(1), [24], [24], player=player)
    assert reward_of(start) == pytest.approx(0.452773137042, abs=1e-11)


def test_before_the_opening_roll_both_have_the_same_chances() -> None:
    for checkers in (1, 2):
        value = outcomes_of(hypergammon(checkers).new_position())
        assert value == pytest.approx(value[::-1], abs=1e-12)
        assert sum(value) == pytest.approx(1, abs=1e-12)


def random_positions(game: Game, num_games: int) -> list[Position]:
    positions = []
    for seed in range(num_games):
        random, position = Random(seed), game.new_position(seed)
        while position.to_move != zf.OVER:
            positions.append(position.copy())
            if position.to_move == zf.CHANCE:
                rolls = position.chance_outcomes()
                position.play(random.choices([r for r, _ in rolls], [p for _, p in rolls])[0])
            else:
                position.play(random.choice(position.legal_actions()))
    return positions


def check_values_follow_from_each_other(game: Game, num_games: int, tolerance: float) -> None:
    """By the game's own rules: the value before a roll is the mean over the rolls, with dice it is
    that of the best action."""
    positions = random_positions(game, num_games)
    assert {position.to_move for position in positions} == {0, 1, zf.CHANCE}
    for position in positions:
        player = int(position.describe()["player"])  # type: ignore[call-overload]
        expected = []
        chances = position.chance_outcomes()
        for chosen in [roll for roll, _ in chances] or position.legal_actions():
            after = position.copy()
            after.play(chosen)
            if after.to_move == zf.OVER:
                expected.append(after.rewards()[player])
            else:
                same = int(after.describe()["player"]) == player  # type: ignore[call-overload]
                expected.append(reward_of(after) * (1 if same else -1))
        mean = sum(p * value for (_, p), value in zip(chances, expected, strict=False))
        assert reward_of(position) == pytest.approx(
            mean if chances else max(expected), abs=tolerance
        )


@pytest.mark.parametrize("checkers", [1, 2])
def test_values_follow_from_each_other_by_the_rules(checkers: int) -> None:
    check_values_follow_from_each_other(hypergammon(checkers), num_games=10, tolerance=1e-10)


MAKEHYPER_CHANGE = "1e-6"
"""Where its sweeps end. It computes in single precision: with two checkers no sweep changes as
little as 1e-7."""


def check_against_gnubg(checkers: int, database: Path, tolerance: float) -> None:
    """Compares every position with the database that GnuBG's makehyper makes."""
    program = Path(gnubg.program()).with_name("makehyper")
    subprocess.run(
        [program, "-n", "-t", MAKEHYPER_CHANGE, "-c", str(checkers), "-f", database],
        check=True, capture_output=True,
    )  # fmt: skip
    all_slots = itertools.combinations_with_replacement(range(26), checkers)
    in_order = sorted(tuple(sorted(slots, reverse=True)) for slots in all_slots)
    sides = [[slots.count(slot) for slot in range(1, 26)] for slots in in_order]
    count = len(sides)
    raw = np.frombuffer(database.read_bytes()[HEADER_BYTES:], np.uint8).reshape(count, count, 28)
    parts = raw[:, :, :15].reshape(count, count, 5, 3) @ np.array([1, 1 << 8, 1 << 16])
    win, gammon, backgammon_won, lost_gammon, lost_backgammon = np.moveaxis(
        parts / (2**24 - 1), 2, 0
    )
    theirs = (
        3 * backgammon_won + 2 * (gammon - backgammon_won) + win - gammon
        - 3 * lost_backgammon - 2 * (lost_gammon - lost_backgammon) - (1 - win - lost_gammon)
    )  # fmt: skip
    at = numbers_of_gnubg(sides, 25, checkers)
    assert backgammon.require_table(checkers)
    kept = np.frombuffer(table_bytes(checkers), np.float64).reshape(count, count, 5)
    ours = kept @ REWARDS[:5] - 3 * (1 - kept.sum(axis=2))
    points = np.array(sides)[:, :24]
    apart = points @ points[:, ::-1].T == 0  # no point is held by both
    assert np.abs(theirs[np.ix_(at, at)].T - ours)[1:, 1:][apart[1:, 1:]].max() < tolerance


@needs_gnubg
def test_every_position_with_one_checker_is_as_gnubg_solves_it(tmp_path: Path) -> None:
    check_against_gnubg(1, tmp_path / "hyper1.bd", tolerance=1e-6)


@pytest.mark.long
@needs_gnubg
def test_every_position_with_two_checkers_is_as_gnubg_solves_it(tmp_path: Path) -> None:
    check_against_gnubg(2, tmp_path / "hyper2.bd", tolerance=1e-6)


@pytest.mark.long
def test_three_checkers_are_solved_on_request_and_then_known() -> None:
    game, sweeps = hypergammon(3), []
    backgammon.build_table(3, lambda num_sweeps, change: sweeps.append((num_sweeps, change)))
    assert sweeps[-1][1] < 1e-6
    check_values_follow_from_each_other(game, num_games=10, tolerance=5e-6)
    assert (
        zf.arena.player(game, "solver").choose(
            position_of(game, [24, 23, 22], [24, 23, 22], [3, 1])
        )
        >= 0
    )


# ---- the player and the cache


def test_the_solver_plays_hypergammon_without_losing_value() -> None:
    game = hypergammon(2)
    solver = zf.arena.player(game, "solver")
    for position in random_positions(game, num_games=5):
        if position.to_move == zf.CHANCE:
            continue
        after = position.copy()
        after.play(solver.choose(position))
        if after.to_move == zf.OVER:
            value = after.rewards()[position.to_move]
        else:
            same = int(after.describe()["player"]) == position.to_move  # type: ignore[call-overload]
            value = reward_of(after) * (1 if same else -1)
        assert value == pytest.approx(reward_of(position), abs=1e-12)


def test_backgammon_with_fifteen_checkers_has_no_perfect_player() -> None:
    with pytest.raises(Unsupported, match=r"no perfect player of .*checkers=15.*hypergammon"):
        zf.arena.player("backgammon", "solver")


def test_three_checkers_need_their_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backgammon, "require_table", lambda checkers: checkers != 3)
    game = hypergammon(3)
    with pytest.raises(Unsupported, match="zerofleet solve backgammon --option checkers=3"):
        zf.arena.player(game, "solver")
    assert zf.solve.value(game.new_position()) is None


def test_a_damaged_table_is_reported_and_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_CACHE", str(tmp_path))
    assert tables.read("some", 1) is None
    tables.write("some", 1, b"bytes")
    assert tables.read("some", 1) == b"bytes"
    assert tables.read("some", 2) is None
    path = tables.path_of("some", 1)
    for damaged in (path.read_bytes()[:-1], path.read_bytes()[:-1] + b"x", b""):
        path.write_bytes(damaged)
        with pytest.warns(tables.TableWarning, match=r"some-v1\.table: damaged.*built again"):
            assert tables.read("some", 1) is None


# ---- searches that ask the tables


@pytest.mark.parametrize("player", [0, 1])
@pytest.mark.parametrize("dice", [(), (2, 1)])
def test_a_search_that_asks_the_tables_proves_the_exact_value(
    player: int, dice: tuple[int, ...]
) -> None:
    for game, mine, theirs in (
        (FIFTEEN, [6, 5, 4], [6, 6, 3]),
        (hypergammon(1), [14], [13]),
        (hypergammon(2), [24, 10], [20, 6]),
    ):
        position = position_of(game, mine, theirs, dice, player)
        found = zf.search.analyse(position, "uniform", 100, use_endgame_solver=True)
        assert found.solved
        assert found.value_to_move == pytest.approx(reward_of(position), abs=1e-6)
        assert list(found.outcomes_to_move.values()) == pytest.approx(
            outcomes_of(position), abs=1e-6
        )
        best = zf.solve.best_actions(position) if dice else None
        assert best is None or found.best_action in best


def test_a_search_asks_the_tables_at_its_leaves() -> None:
    # Seven checkers: no table reaches the root, but each play of the roll leads into one.
    position = position_of(FIFTEEN, [1] * 7, [6] * 6)
    assert zf.solve.value(position) is None
    assert zf.search.analyse(position, "uniform", 100, use_endgame_solver=True).solved
    assert not zf.search.analyse(position, "uniform", 100).solved
