"""Difficulty of players: what it adds to a search, and that training does not know it."""

from pathlib import Path

import pytest
from nim import Nim

import zerofleet as zf
from zerofleet.arena.players import (
    DIFFICULTIES,
    HARD_BUDGET,
    search_player,
    searching,
    with_difficulty,
)
from zerofleet.config import load
from zerofleet.errors import BadText, Unsupported, ZerofleetError

SOURCES = Path(zf.__file__).parent
TWO_THREES = "i8 a1 j8 a15 h9 o1 h10 o15"
"""X wins with h8, which makes two open threes; playouts do not prove it in a few simulations."""


def analysed(difficulty: str | None) -> zf.search.Analysis:
    game = zf.games.get("gomoku")
    text = f"playout-8,difficulty={difficulty}" if difficulty else "playout-8"
    return search_player(game, text).analyse(game.from_text(TWO_THREES))


def test_medium_and_hard_prove_what_easy_does_not() -> None:
    assert not analysed(None).solved
    assert not analysed("easy").solved
    for difficulty in ("medium", "hard"):
        found = analysed(difficulty)
        assert found.solved
        assert found.value_to_move == 1


def test_easy_is_the_search_alone() -> None:
    assert analysed("easy").visits == analysed(None).visits


def test_hard_has_a_larger_budget() -> None:
    game = zf.games.get("gomoku")
    medium, hard = (
        search_player(game, f"playout-8,difficulty={each}").analyse(game.new_position())
        for each in ("medium", "hard")
    )
    assert medium.num_simulations == 8
    assert hard.num_simulations == 8 * HARD_BUDGET


def test_a_game_without_a_solver_has_all_difficulties() -> None:
    game = zf.games.from_class(Nim)
    assert not game.has_solver
    for difficulty in DIFFICULTIES:
        with zf.arena.player(game, f"playout-8,difficulty={difficulty}") as mover:
            position = game.new_position()
            assert mover.choose_many([position], [1])[0] in position.legal_actions()


def test_all_players_that_search_take_the_difficulty() -> None:
    texts = ["best", "playout-9,difficulty=easy", "random", "best,greedy", "best,sims=0"]
    assert with_difficulty(texts, "hard") == ["best,difficulty=hard", *texts[1:]]
    assert with_difficulty(texts, None) == texts
    assert searching("best,difficulty=hard").difficulty == "hard"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("playout-9,difficulty=harder", "unknown setting 'difficulty=harder'"),
        ("playout-9,difficulty=easy,difficulty=hard", "difficulty is given twice"),
        ("best,sims=0,difficulty=hard", "so it takes no difficulty"),
        ("best,greedy,difficulty=hard", "greedy has no tree"),
    ],
)
def test_an_impossible_difficulty_is_one_clear_error(text: str, fault: str) -> None:
    with pytest.raises(ZerofleetError, match=fault):
        zf.arena.player("gomoku", text)


def test_players_that_do_not_search_take_no_difficulty() -> None:
    with pytest.raises(Unsupported, match="for players that search"):
        with_difficulty(["random", "heuristic"], "medium")
    with pytest.raises(BadText, match="easy, medium, hard"):
        with_difficulty(["best"], "extreme")


def test_training_knows_neither_difficulty_nor_solver() -> None:
    """Not as a setting, and not in the code of any room that makes or learns from games."""
    with pytest.raises(ZerofleetError, match="use_endgame_solver"):
        load("gomoku", overrides=["search.use_endgame_solver=true"])
    for room in ("fleet", "infer", "nets", "replay", "selfplay", "training"):
        for path in (SOURCES / room).rglob("*.py"):
            source = path.read_text()
            assert "difficulty" not in source, path
            assert "use_endgame_solver" not in source, path
