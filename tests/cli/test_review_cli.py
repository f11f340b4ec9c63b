"""`zerofleet review`, as its users see it."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Ran, example_of

SAVED = """\
game: connect4
options:
seat: first
against: playout-1000
start: 121212
moves: 7; 7; 1
"""


@pytest.fixture
def saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("game.txt").write_text(SAVED)
    return "game.txt"


def test_review_marks_mistakes_names_the_better_move_and_sums_up(
    capsys: pytest.CaptureFixture[str], saved: str
) -> None:
    ran = Ran(capsys, "review", saved, "--player", "playout-200")
    assert ran.status == 0
    header, first, second, third, _, titles, *players = ran.output.splitlines()
    assert header.split() == ["ply", "player", "played", "lost", "value", "better", "line"]
    assert first.split() == ["1", "first", "7", "??", "2.00", "+1.00", "1"]
    assert second.split() == ["2", "second", "7", "??", "2.00", "+1.00", "2"]
    assert third.split() == ["3", "first", "1", "0.00", "+1.00"]
    assert titles.split() == ["player", "turns", "lost", "per", "turn", "?!", "?", "??"]
    assert players[0].split() == ["first", "(you)", "2", "1.000", "0", "0", "1"]
    assert players[1].split() == ["second", "(playout-1000)", "1", "2.000", "0", "0", "1"]


def test_the_example_of_the_help_runs(capsys: pytest.CaptureFixture[str], saved: str) -> None:
    ran = Ran(capsys, *example_of(capsys, "review"))
    assert ran.status == 0
    assert "??" in ran.output


def test_other_formats_are_read(capsys: pytest.CaptureFixture[str], saved: str) -> None:
    Path("two.moves").write_text("44\n1212127\n")
    ran = Ran(capsys, "review", "two.moves", "--only", "2", "--player", "playout-50")
    assert ran.output.count("first") > 3
    Path("game.sgf").write_text("(;GM[4]FF[4]SZ[15];B[hh];W[gg];B[hi])")
    ran = Ran(capsys, "review", "game.sgf", "--player", "playout-50")
    assert ran.status == 0


def test_a_game_of_a_run_is_reviewed_by_its_number(
    capsys: pytest.CaptureFixture[str], trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(trained.runs))
    ran = Ran(capsys, "review", "run:ttt#100", "--player", "playout-50")
    assert ran.status == 0
    assert "first (run:ttt@" in ran.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing.txt"], "nothing.txt cannot be read: No such file or directory"),
        (["two.moves"], "two.moves has 2 games; pick one with --only N"),
        (["two.moves", "--only", "3"], "--only 3: two.moves has 2 games"),
        (["own.txt"], "own.txt: it is a game of nim.py:Nim, which is not built in"),
        (["game.txt", "--game", "gomoku"], "game.txt: it is a game of"),
        (["game.txt", "--option", "size=9"], "--option needs --game"),
        (["game.txt", "--from", "pgn"], "game.txt: unknown format 'pgn' of games; known: sgf,"),
        (["game.txt", "--player", "random"], "player 'random' does not search"),
        (["run:c4"], "run:c4: write run:NAME#ID;"),
        (["run:c4#1", "--only", "1"], "--from, --only and --game cannot be used with run:c4#1"),
        (["run:c4#1"], "unknown run c4"),
    ],
)
def test_what_cannot_be_reviewed_is_one_clear_line(
    capsys: pytest.CaptureFixture[str], saved: str, arguments: list[str], message: str
) -> None:
    Path("two.moves").write_text("44\n1212127\n")
    Path("own.txt").write_text(SAVED.replace("connect4", "nim.py:Nim"))
    ran = Ran(capsys, "review", *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1
