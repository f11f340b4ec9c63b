"""zerofleet runs games, as its users see it, on a run that was trained."""

from pathlib import Path
from typing import Any

import pytest
from command_line import Ran

from zerofleet.games import read_games


@pytest.fixture(autouse=True)
def runs_there(trained: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(trained.runs))
    monkeypatch.chdir(tmp_path)


def rows(ran: Ran) -> list[list[str]]:
    assert (ran.status, ran.errors) == (0, "")
    return [line.split() for line in ran.output.splitlines()]


def test_games_are_listed_newest_first_longest_first_and_by_result(
    capsys: pytest.CaptureFixture[str],
) -> None:
    header, *newest = rows(Ran(capsys, "runs", "games", "ttt"))
    assert header == ["game", "id", "version", "plies", "result"]
    numbers = [int(row[0]) for row in newest]
    assert len(numbers) == 20
    assert numbers == list(range(numbers[0], numbers[0] - 20, -1))
    _, *longest = rows(Ran(capsys, "runs", "games", "ttt", "--order", "longest", "--limit", "5"))
    assert len(longest) == 5
    assert {row[3] for row in longest} == {"9"}  # tic-tac-toe
    _, *lost = rows(Ran(capsys, "runs", "games", "ttt", "--result", "loss", "--order", "oldest"))
    assert {row[4] for row in lost} == {"loss"}
    assert int(lost[0][0]) < int(lost[-1][0])


def test_one_game_is_shown_move_by_move(capsys: pytest.CaptureFixture[str]) -> None:
    _, row = rows(Ran(capsys, "runs", "games", "ttt", "--limit", "1", "--result", "win"))
    shown = rows(Ran(capsys, "runs", "games", "ttt", "--show", row[1]))
    assert shown[0] == ["game", row[0], "of", "ttt,", "id", row[1]]
    assert shown[3][:2] == ["1", "first"]
    assert shown[-1] == ["X", "has", "won"]
    by_number = rows(Ran(capsys, "runs", "games", "ttt", "--show", row[0]))
    assert by_number == shown


def test_a_game_is_written_as_a_file_that_is_read_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, row = rows(Ran(capsys, "runs", "games", "ttt", "--limit", "1"))
    ran = Ran(capsys, "runs", "games", "ttt", "--show", row[0], "--out", "game.txt")
    assert ran.output == f"game.txt: game {row[0]}\n"
    (record,) = read_games("game.txt")
    assert len(record.actions) == int(row[3])
    printed = Ran(capsys, "runs", "games", "ttt", "--show", row[0], "--format", "text")
    assert printed.output == Path("game.txt").read_text()


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["--result", "won"], "gomoku has no result 'won'; known: win, draw, loss, truncated"),
        (["--show", "9999"], "no game 9999 in the log of ttt"),
        (["--out", "games.txt"], "a text holds one game, not 20"),
        (["--format", "sgf"], "SGF is for gomoku line=5, not for gomoku line=3"),
        (["--result", "truncated", "--format", "sgf"], "the log has no such game"),
        (["--out", "gone/game.sgf"], "gone/game.sgf cannot be written"),
    ],
)
def test_what_cannot_be_had_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], fault: str
) -> None:
    ran = Ran(capsys, "runs", "games", "ttt", *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {fault}")
    assert ran.errors.count("\n") == 1
