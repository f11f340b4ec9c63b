"""Threat search and endgames of Gomoku: against known forced wins, by hand, and by its verifier.

cpp/tests/test_gomoku_solver.cc compares it with brute force on small boards.
"""

import json
import math
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random
from time import monotonic, process_time
from typing import Any

import pytest

import zerofleet as zf
from zerofleet.errors import BadText, IllegalAction, Inconsistent, Unsupported
from zerofleet.games import Game, Position
from zerofleet.solve import GomokuSolver

FORCED_WINS = Path(__file__).parent.parent / "oracles" / "gomoku_forced_wins.jsonl"
NUM_SAMPLED = 200
"""Random positions of each variant in the short test."""


def forced_wins() -> list[dict[str, Any]]:
    return [json.loads(line) for line in FORCED_WINS.read_text().splitlines()]


def position_of(entry: dict[str, Any]) -> Position:
    rows = [entry["board"][at : at + 15] for at in range(0, 225, 15)]
    return zf.games.get("gomoku").from_describe({"board": rows, "player": entry["side"] - 1})


def random_positions(game: Game, count: int, rng: Random) -> Iterator[Position]:
    """Positions of games between random players, before their end."""
    size = int(game.options["size"])
    found = 0
    while found < count:
        position = game.new_position()
        for _ in range(rng.randrange(6, size * size // 2)):
            position.play(rng.choice(position.legal_actions()))
            if position.to_move == zf.OVER:
                break
        else:
            found += 1
            yield position


def game_positions(game: Game, count: int) -> list[Position]:
    """Positions of games of the shipped weights, without search, from many openings."""
    played = zf.arena.match(game, "best,sims=0", "heuristic", num_games=100, seed=3)
    positions = [
        position
        for episode in played.episodes
        for position in zf.games.Episode.decode(episode).positions(game)
        if position.to_move != zf.OVER
    ]
    return Random(1).sample(positions, count)


def refuse_unverified(positions: Iterator[Position] | list[Position], max_nodes: int) -> int:
    """How many are won by threats; fails on a line that is not proven by the rules."""
    num_won = 0
    for position in positions:
        line = zf.solve.threats(position, max_nodes)
        if line is None:
            continue
        num_won += 1
        assert zf.solve.verify_threats(position, line, 10 * max_nodes), position.to_text()
        last = position.copy()
        for action in line:
            last.play(action)
        assert last.to_move == zf.OVER
        assert last.rewards()[position.to_move] == 1
    return num_won


@pytest.mark.parametrize("entry", forced_wins(), ids=lambda entry: entry["id"])
def test_a_forced_win_is_solved_in_a_second_and_every_four_has_one_reply(
    entry: dict[str, Any],
) -> None:
    position = position_of(entry)
    start_s = process_time()
    line = zf.solve.threats(position)
    assert process_time() - start_s < 1  # milliseconds, in fact
    assert line is not None
    column, row = line[0] % 15, line[0] // 15
    assert [column, row] in entry["win_moves"]
    assert zf.solve.verify_threats(position, line)
    assert zf.solve.value(position) == [1.0, 0.0, 0.0]
    for at in range(0, len(line) - 3, 2):
        position.play(line[at])
        # A pass of the opponent: the attacker completes a line at one cell, where the reply goes.
        assert line[at + 1] in completing_cells(position)
        position.play(line[at + 1])


def completing_cells(position: Position) -> set[int]:
    """Where the player who moved last would complete a line, by trying."""
    found = set()
    for cell in position.legal_actions():
        elsewhere = next(action for action in position.legal_actions() if action != cell)
        after = position.copy()
        after.play(elsewhere)
        after.play(cell)
        if after.to_move == zf.OVER and after.rewards()[1 - position.to_move] == 1:
            found.add(cell)
    return found


@pytest.mark.parametrize("rule", ["freestyle", "exact"])
@pytest.mark.parametrize("size", [9, 15])
def test_every_line_of_a_random_position_is_proven(rule: str, size: int) -> None:
    game = zf.games.get("gomoku", size=size, rule=rule)
    assert refuse_unverified(random_positions(game, NUM_SAMPLED, Random(size)), 2_000) > 20


@pytest.mark.long
@pytest.mark.parametrize("rule", ["freestyle", "exact"])
@pytest.mark.parametrize("size", [9, 15])
def test_every_line_of_many_random_positions_is_proven(rule: str, size: int) -> None:
    game = zf.games.get("gomoku", size=size, rule=rule)
    assert refuse_unverified(random_positions(game, 2_500, Random(100 + size)), 20_000) > 500


@pytest.mark.long
@pytest.mark.parametrize("size", [9, 15])
def test_every_line_of_game_positions_is_proven(size: int) -> None:
    game = zf.games.get("gomoku", size=size)
    assert refuse_unverified(iter(game_positions(game, 500)), 20_000) > 10


@pytest.mark.long
def test_the_verifier_refuses_no_proof_of_the_search() -> None:
    for size in (6, 9, 15):
        for rule in ("freestyle", "exact"):
            game = zf.games.get("gomoku", size=size, rule=rule)
            solver = GomokuSolver(game)
            for position in random_positions(game, 500, Random(size)):
                solver.threats(position, 20_000)
            assert solver.num_refused == 0


@pytest.mark.parametrize("variant", [{}, {"rule": "exact"}, {"size": 7, "line": 4}])
def test_a_line_with_a_hole_is_refused(variant: dict[str, Any]) -> None:
    game = zf.games.get("gomoku", **variant)
    rng = Random(7)
    num_changed = 0
    for position in random_positions(game, 150, rng):
        line = zf.solve.threats(position, 1_000)
        if line is None or len(line) < 5:
            continue
        assert not zf.solve.verify_threats(position, line[:-1], 1_000)
        assert not zf.solve.verify_threats(position, line[:-2], 1_000)
        assert not zf.solve.verify_threats(position, [*line[:2], *line[:1], *line[3:]], 1_000)
        assert not zf.solve.verify_threats(position, [], 1_000)
        assert not zf.solve.verify_threats(position, [10**6, *line[1:]], 1_000)
        num_changed += 1
    assert num_changed > 5


def test_a_quiet_move_before_the_line_does_not_make_it_a_win() -> None:
    """X has two stones: whatever it plays, nothing is forced."""
    position = zf.games.get("gomoku", size=9).from_text("e5 a1 e6 a3")
    assert zf.solve.threats(position, 20_000) is None
    assert not zf.solve.verify_threats(position, [0, 1, 2, 3, 4], 1_000)


def test_a_bound_of_time_ends_a_search_and_the_next_one_is_whole() -> None:
    game = zf.games.get("gomoku")
    wild = game.from_text("f11 j11 i11 e10 k11 j10 k10 g9 e9 f8 h9 i8 h7 i6 i7 h5 g7")
    start_s = monotonic()
    assert zf.solve.threats(wild, max_nodes=10**12, max_seconds=0.2) is None
    assert 0.2 <= monotonic() - start_s < 2
    position = position_of(forced_wins()[0])
    line = zf.solve.threats(position, max_seconds=0)
    assert line is not None
    assert zf.solve.verify_threats(position, line)
    for impossible in (-1, math.nan):
        with pytest.raises(BadText, match="max_seconds is 0 or more"):
            zf.solve.threats(position, max_seconds=impossible)


def test_a_three_and_a_three_is_a_win_by_threats() -> None:
    """h8 makes two open threes, h8-j8 and h8-h10, and O has only corners."""
    position = zf.games.get("gomoku").from_text("i8 a1 j8 a15 h9 o1 h10 o15")
    line = zf.solve.threats(position)
    assert line is not None
    assert zf.solve.verify_threats(position, line)
    assert zf.solve.value(position) == [1.0, 0.0, 0.0]


def test_an_open_four_of_the_opponent_is_lost() -> None:
    game = zf.games.get("gomoku", size=9)
    position = game.from_text("d5 a1 e5 c1 f5 e1 g5")
    assert zf.solve.value(position) == [0.0, 0.0, 1.0]
    best = zf.solve.best_actions(position)
    assert best is not None
    assert set(best) <= set(position.legal_actions())


def test_nothing_is_said_of_an_open_game() -> None:
    position = zf.games.get("gomoku").new_position()
    assert zf.solve.threats(position, 1_000) is None
    assert zf.solve.value(position) is None
    assert zf.solve.best_actions(position) is None
    assert zf.solve.plies_to_end(position) is None


@pytest.mark.parametrize(
    ("moves", "value", "plies"),
    [
        ("", [0.0, 1.0, 0.0], 9),  # tic-tac-toe is a draw
        ("a3 b3 b2", [0.0, 0.0, 1.0], 4),  # O did not take the centre or block: X has two ways
        ("a3 c1 a1", [0.0, 0.0, 1.0], 4),  # after a2, c3 makes two ways
        ("b2 a3", [0.0, 1.0, 0.0], 7),
    ],
)
def test_tic_tac_toe_is_solved(moves: str, value: list[float], plies: int) -> None:
    position = zf.games.get("tictactoe").from_text(moves)
    assert zf.solve.value(position) == value
    assert zf.solve.plies_to_end(position) == plies


def score_by_playing_out(position: Position, known: dict[str, int]) -> int:
    """By the rules alone: cells still empty at the end plus one, negative where the player to move
    loses, 0 for a draw."""
    key = str(position.describe())
    if key not in known:
        known[key] = max(score for _, score in scores_by_playing_out(position, known))
    return known[key]


def scores_by_playing_out(position: Position, known: dict[str, int]) -> list[tuple[int, int]]:
    scores = []
    for action in position.legal_actions():
        after = position.copy()
        after.play(action)
        if after.to_move != zf.OVER:
            scores.append((action, -score_by_playing_out(after, known)))
        else:
            won = bool(after.rewards()[position.to_move])
            scores.append((action, len(position.legal_actions()) if won else 0))
    return scores


def nearly_full_board(game: Game, num_empty: int, random: Random) -> Position:
    """Random stones without a line; where that comes up, without a win at once too."""
    size = int(game.options["size"])
    num_stones = size * size - num_empty
    cells = list("XO" * (num_stones // 2) + "X" * (num_stones % 2) + "." * num_empty)
    found = None
    for _ in range(100):
        random.shuffle(cells)
        board = ["".join(cells[at : at + size]) for at in range(0, len(cells), size)]
        with suppress(Inconsistent):  # a line of the player who is to move
            position = game.from_describe({"board": board, "player": num_stones % 2})
            if position.to_move == zf.OVER:
                continue
            found = position
            if max(score for _, score in scores_by_playing_out(position, {})) < num_empty:
                break
    assert found is not None
    return found


@pytest.mark.parametrize("rule", ["freestyle", "exact"])
@pytest.mark.parametrize(("size", "line"), [(3, 3), (4, 4), (5, 4), (6, 5), (7, 6), (8, 6)])
def test_nearly_full_boards_are_as_playing_everything_out_has_them(
    rule: str, size: int, line: int
) -> None:
    game, random = zf.games.get("gomoku", size=size, line=line, rule=rule), Random(size)
    for num_empty in (1, 2, 3, 4, 5, 6) * 3:
        position = nearly_full_board(game, num_empty, random)
        scores = scores_by_playing_out(position, {})
        best = max(score for _, score in scores)
        assert zf.solve.value(position) == [float(best > 0), float(best == 0), float(best < 0)]
        plies = num_empty if best == 0 else num_empty + 1 - abs(best)
        assert zf.solve.plies_to_end(position) == plies, position.to_text()
        actions = [action for action, score in scores if score == best]
        assert zf.solve.best_actions(position) == actions, position.to_text()


def test_only_gomoku_has_threats() -> None:
    with pytest.raises(Unsupported, match="knows gomoku, not connect4"):
        zf.solve.threats(zf.games.get("connect4").new_position())
    over = zf.games.get("tictactoe").from_text("a1 a2 b1 b2 c1")
    with pytest.raises(IllegalAction, match="over"):
        zf.solve.threats(over)
