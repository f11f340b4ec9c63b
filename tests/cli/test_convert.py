"""zerofleet convert, as its users see it."""

from pathlib import Path

import pytest
from command_line import Ran, example_of

import zerofleet as zf
from zerofleet.games import read_games

MATCH = """\
 3 point match

 Game 1
 gnubg : 0                      anna : 0
  1) 31: 8/5 6/5                 Doubles => 2
  2)  Drops
                                  Wins 1 point

 Game 2
 gnubg : 0                      anna : 1
  1)                             31: 8/5 6/5
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_one_game_of_a_match_becomes_a_text(capsys: pytest.CaptureFixture[str]) -> None:
    Path("match.mat").write_text(MATCH)
    ran = Ran(capsys, *example_of(capsys, "convert"))
    assert (ran.status, ran.output) == (0, "first.txt: backgammon, text\n")
    left_out = "match.mat: game 1: 2 cube actions left out; play here is cubeless\n"
    assert ran.errors == left_out
    (record,) = read_games("first.txt")
    assert record.players == ("gnubg", "anna")
    assert record.reward_first_player == -1


def test_without_a_target_games_are_printed(capsys: pytest.CaptureFixture[str]) -> None:
    Path("games").write_text("4453\n4444\n")
    ran = Ran(capsys, "convert", "games", "--from", "moves", "--to", "moves")
    assert ran.output == "4453\n4444\n"


def test_a_variant_that_the_file_does_not_state_must_be_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("game.sgf").write_text("(;FF[4];B[ee])")
    assert "without GM is Go unless the game is named" in Ran(capsys, "convert", "game.sgf").errors
    ran = Ran(capsys, "convert", "game.sgf", "--game", "gomoku", "--option", "size=9")
    assert "options: size=9 line=5 rule=freestyle" in ran.output
    assert "moves: e5\n" in ran.output


def test_a_custom_game_is_converted_where_it_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    support = Path(zf.__file__).parents[2] / "tests" / "support"
    Path("nim.txt").write_text("game: nim\noptions:\nstart: \nmoves:\n")
    assert "name that game to read it" in Ran(capsys, "convert", "nim.txt").errors
    position = zf.games.get(f"{support / 'nim.py'}:Nim").new_position()
    Path("nim.txt").write_text(
        f"game: nim\noptions:\nstart: {position.to_text()}\n"
        f"moves: {position.action_text(position.legal_actions()[0])}\n"
    )
    ran = Ran(capsys, "convert", "nim.txt", "--game", f"{support / 'nim.py'}:Nim")
    assert (ran.status, ran.errors) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["none.sgf"], "none.sgf cannot be read: No such file or directory"),
        (["match.mat"], "a text holds one game, not 2; write them one by one"),
        (["match.mat", "--only", "3"], "--only 3: match.mat has 2 games"),
        (["match.mat", "--to", "pgn"], "unknown format 'pgn' of games; known: sgf, mat, moves"),
        (["match.mat", "game.sgf"], "SGF is for gomoku line=5, not for backgammon"),
        (["match.mat", "gone/game.mat"], "gone/game.mat cannot be written"),
        (["match.mat", "--option", "checkers=3"], "--option needs --game"),
        (["match.mat", "--from", "sgf"], "match.mat: it is not SGF"),
        (["."], ". cannot be read: Is a directory"),
    ],
)
def test_what_cannot_be_converted_is_said_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: list[str], fault: str
) -> None:
    Path("match.mat").write_text(MATCH)
    ran = Ran(capsys, "convert", *arguments)
    assert ran.status == 2
    assert ran.errors.splitlines()[-1].startswith(f"zerofleet: {fault}")
    assert not Path("game.sgf").exists()
