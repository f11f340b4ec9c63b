"""Games as files: SGF, MAT, columns and our own text round-trip; GnuBG reads MAT."""

import importlib.util
import random
from pathlib import Path
from typing import Any

import pytest
from outside_tools import needs_gnubg

import zerofleet as zf
from zerofleet.errors import BadText, ZerofleetError
from zerofleet.games import GameRecord, games_from_text, games_to_text, read_games, write_games
from zerofleet.games.record import actions_of_turn


@pytest.fixture(scope="module")
def gnubg() -> Any:
    path = Path(__file__).parent.parent / "oracles" / "gnubg.py"
    spec = importlib.util.spec_from_file_location("gnubg_oracle", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def random_game(game: zf.games.Game, seed: int, players: tuple[str, str] = ("", "")) -> GameRecord:
    rng = random.Random(seed)
    start = game.new_position(seed)
    position, actions = start.copy(), []
    while position.to_move != zf.OVER:
        legal = position.legal_actions() or [outcome for outcome, _ in position.chance_outcomes()]
        actions.append(rng.choice(legal))
        position.play(actions[-1])
    return GameRecord(start, tuple(actions), players)


def is_same(a: GameRecord, b: GameRecord) -> bool:
    return (a.start, a.actions, a.reward_first_player) == (
        b.start,
        b.actions,
        b.reward_first_player,
    )


@pytest.mark.parametrize(
    ("file_format", "name", "options"),
    [
        ("sgf", "gomoku", {}),
        ("sgf", "gomoku", {"size": 19, "rule": "exact"}),
        ("sgf", "gomoku", {"size": 7}),
        ("mat", "backgammon", {}),
        ("mat", "backgammon", {"checkers": 3}),
        ("moves", "connect4", {}),
        ("text", "beastybar", {}),
        ("text", "beastybar", {"scoring": "animals"}),
        ("text", "backgammon", {}),
        ("text", "gomoku", {"size": 3, "line": 3}),
    ],
)
def test_every_game_comes_back_as_it_was_written(
    tmp_path: Path, file_format: str, name: str, options: dict[str, Any]
) -> None:
    game = zf.games.get(name, **options)
    written = [random_game(game, seed, ("Ann ] \\ B", "c")) for seed in range(20)]
    if file_format == "text":
        written = written[:1]
    path = tmp_path / f"games.{file_format}"
    write_games(path, written)
    read = read_games(path)
    assert all(is_same(a, b) for a, b in zip(written, read, strict=True))
    if file_format != "moves":
        assert {record.players for record in read} == {("Ann ] \\ B", "c")}
    assert games_to_text(read, file_format) == path.read_text()


def test_an_unfinished_game_stays_unfinished() -> None:
    for name, file_format in (("gomoku", "sgf"), ("backgammon", "mat"), ("beastybar", "text")):
        whole = random_game(zf.games.get(name), 3)
        for num_actions in range(12):
            record = GameRecord(whole.start, whole.actions[:num_actions])
            (read,) = games_from_text(games_to_text([record], file_format), file_format)
            assert is_same(record, read)
            assert read.reward_first_player is None


# ---- SGF


def test_points_of_sgf_are_counted_from_the_upper_left_corner() -> None:
    (record,) = games_from_text("(;GM[4]SZ[15];B[aa];W[oa];B[hd])", "sgf")
    assert record.positions()[-1].to_text() == "a15 o15 h12"
    (record,) = games_from_text("(;GM[4]SZ[15];B[a15];W[O15];B[h12])", "sgf")
    assert record.positions()[-1].to_text() == "a15 o15 h12"


def test_sgf_as_others_write_it_is_read() -> None:
    text = r"""from the club (;FF[4]GM[4]AP[a:1]SZ[9]PB[A \] \\ \:
 b]PW[c\
d]C[a; (b) [c\]]
        ;Black[ee]C[good];W[dd] (;B[ff](;W[cc])(;W[gg];B[aa])) (;B[ed]) )
        (;GM[4]SZ[19]RE[W+R];B[jj])"""
    first, second = games_from_text(text, "sgf")
    assert first.players == (r"A ] \ :  b", "cd")
    assert first.positions()[-1].to_text() == "e5 d6 f4 c7"
    assert first.notes == ("variations left out: 2; the main line is read",)
    assert first.reward_first_player is None
    assert second.game.options["size"] == "19"
    assert (second.awarded_first_player, second.notes) == (-1, ())


def test_a_resigned_game_keeps_who_won() -> None:
    for file_format in ("sgf", "text"):
        start = zf.games.get("gomoku").new_position()
        record = GameRecord(start, (112,), awarded_first_player=-1)
        (read,) = games_from_text(games_to_text([record], file_format), file_format)
        assert read.reward_first_player == -1


def test_the_board_counts_where_sgf_names_another_winner() -> None:
    five = "".join(f";B[{at}a];W[{at}b]" for at in "abcd") + ";B[ea]"
    (record,) = games_from_text(f"(;GM[4]SZ[9]RE[W+]{five})", "sgf")
    assert record.reward_first_player == 1
    assert record.notes == ("RE[W+] contradicts the board, which counts",)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", r"it is not SGF: it contains no game"),
        ("(;GM[4]SZ[9];B[ee]", r"line 1: the game is not closed: \) is missing"),
        ("(;GM[4]SZ[9]\n;B[ee]=)", r"line 2: '=\)' is not SGF"),
        ("(;GM[4]SZ[9](;B[ee]);B[aa])", "a node follows a closed variation"),
        ("(;[4])", r"\[4\] has no property name before it"),
        ("(;FF[4]SZ[9];B[ee])", r"a game GM\[1\]; Gomoku is GM\[4\], and a file without GM is Go"),
        ("(;GM[2]SZ[9])", r"it is a game GM\[2\]; Gomoku is GM\[4\]$"),
        ("(;GM[4];B[ee])", "SZ is missing"),
        ("(;GM[4]SZ[9:13])", r"SZ\[9:13\]: a board of Gomoku is square"),
        ("(;GM[4]SZ[99])", "size"),
        ("(;GM[4]SZ[15]RU[Renju])", r"RU\[Renju\]: known rules are freestyle, exact, standard"),
        ("(;GM[4]SZ[9];B[ee];W[ee])", "move 2: "),
        ("(;GM[4]SZ[9];B[ee];B[ea])", r"move 2: B\[ea\]: it is W's turn"),
        ("(;GM[4]SZ[9];B[jj])", r"move 1: B\[jj\]: that is off a board of size 9"),
        ("(;GM[4]SZ[9];B[])", "move 1: "),
        ("(;GM[4]SZ[9]AB[ee])", r"setup stones \(AB\) after move 0: .* write the stones as moves"),
        ("(;GM[4]SZ[9];B[ee]W[ed])", "a node after move 0 has 2 moves"),
        ("(;GM[4]SZ[9];B[ee])(;GM[4]SZ[9];W[ee])", r"game 2, move 1: W\[ee\]: it is B's turn"),
    ],
)
def test_sgf_that_cannot_be_read_says_what_and_where(text: str, fault: str) -> None:
    with pytest.raises(ZerofleetError, match=fault):
        games_from_text(text, "sgf")


def test_deeply_nested_sgf_is_read_without_recursion() -> None:
    depth = 50_000
    (record,) = games_from_text("(;GM[4]SZ[9]" + "(;C[]" * depth + ")" * depth + ")", "sgf")
    assert record.actions == ()


# ---- MAT


@needs_gnubg
@pytest.mark.parametrize("checkers", [15, 3])
def test_gnubg_reads_the_matches_that_we_write(gnubg: Any, tmp_path: Path, checkers: int) -> None:
    game = zf.games.get("backgammon", checkers=checkers)
    written = [random_game(game, seed, ("run:c4", "b b")) for seed in range(20)]
    write_games(tmp_path / "ours.mat", written)
    ours = (tmp_path / "ours.mat").read_text()
    theirs = gnubg.read_and_written_again(tmp_path / "ours.mat", tmp_path / "theirs.mat")
    read = games_from_text(theirs, "mat")
    assert all(is_same(a, b) for a, b in zip(written, read, strict=True))
    assert read[0].players == ("run c4", "b b")
    # Its own count of points, at every end and beginning of a game.
    for said in ("Wins", "b b :"):
        assert [line.split() for line in ours.splitlines() if said in line] == [
            line.split() for line in theirs.splitlines() if said in line
        ]
    for rare in ("25/", "/0", "*", "Wins 2", "Wins 3"):
        assert rare in ours
    assert ":\n" in ours or checkers == 3  # no move


@needs_gnubg
def test_we_read_the_sessions_that_gnubg_plays(gnubg: Any, tmp_path: Path) -> None:
    text = gnubg.match_with_itself(tmp_path / "s.mat", seed=3, cube=False)
    records = games_from_text(text, "mat")
    won = [line.split()[1] for line in text.splitlines() if "Wins" in line]
    assert len(won) == len(records) >= 2
    assert any(record.awarded_first_player is None for record in records)  # GnuBG resigns often
    for record, points in zip(records, won, strict=True):
        assert abs(record.reward_first_player or 0) == int(points)
        assert record.notes == ()


@needs_gnubg
def test_cube_actions_of_gnubg_are_left_out_with_a_note(gnubg: Any, tmp_path: Path) -> None:
    text = gnubg.match_with_itself(tmp_path / "s.mat", seed=1, cube=True)
    dropped, taken = games_from_text(text, "mat")
    assert "Drops" in text
    assert "Takes" in text
    assert dropped.reward_first_player == dropped.awarded_first_player == -1
    assert taken.awarded_first_player is None
    assert taken.reward_first_player == 2  # a gammon; the cube made 4 of it
    assert taken.notes == ("game 2: 2 cube actions left out; play here is cubeless",)


HEAD = " 0 point match\n\n Game 1\n a : 0                          b : 0\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "it is not MAT: it has no line 'Game 1'"),
        (" Game 1\n", "game 1 is empty"),
        (" Game 1\n a, b\n", "line 2: names and scores are written"),
        ('; [Variation "NackGammon"]\n' + HEAD, "variation 'NackGammon'; known: Backgammon, Hyper"),
        (HEAD + "  1) 31: 8/5 6/4\n", "line 5: .*does not fit the dice"),
        (HEAD + "  1) 33: 8/5 8/5 6/3 6/3\n", "line 5: 33: an opening roll is never a double"),
        (HEAD + "  1) 31: 8/5 6/5\n  2) 31: 8/5 6/5\n", "line 6: 31: it is the turn of the player"),
        (HEAD + "  1) 31:                        31: 8/5 6/5\n", "its last turn was not played"),
        (HEAD + "  1) 31: 8/5 6/5              hello\n", "'hello' is neither a roll"),
        (HEAD + "  1) 31: Illegal play (x)\n", "line 5: 'illegal' is no checker move"),
        (HEAD + "; Set Pos=-b----E-C---eE---c-e----B-/0\n", "games must start from the beginning"),
        (HEAD + "      Wins 1 point\n  1) 31: 8/5 6/5\n", "follows the end of game 1"),
    ],
)
def test_mat_that_cannot_be_read_says_what_and_where(text: str, fault: str) -> None:
    with pytest.raises(ZerofleetError, match=fault):
        games_from_text(text, "mat")


def test_a_game_of_mat_begins_with_the_opening_roll() -> None:
    start = zf.games.get("backgammon").from_text("4HPwATDgc/ABMA 31")
    with pytest.raises(ZerofleetError, match="begins with the opening roll"):
        games_to_text([GameRecord(start)], "mat")


# ---- columns and text


def test_columns_are_a_game_a_line() -> None:
    first, second = games_from_text("# two games\n4453\n\n1212121\n", "moves")
    assert first.positions()[-1].to_text() == "4453"
    assert second.reward_first_player == 1
    assert games_to_text([first, second], "moves") == "4453\n1212121\n"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("\n# none\n", "it contains no game; a game is a line of columns"),
        ("44\n48", "line 2, move 2: '8' is no move; a move is a column 1-7"),
        ("4444444", "line 1, move 7: column 4 is full"),
        ("12121212", "line 1, move 8: 2: the game is over"),
    ],
)
def test_columns_that_cannot_be_played_are_named(text: str, fault: str) -> None:
    with pytest.raises(ZerofleetError, match=fault):
        games_from_text(text, "moves")


TEXT = "game: {}\noptions:\nstart:\nmoves: {}\n"


def test_a_text_does_not_choose_what_code_is_loaded(tmp_path: Path) -> None:
    source = tmp_path / "own.py"
    source.write_text("raise SystemExit('it ran')")
    with pytest.raises(BadText, match=r"own.py:G, which is not built in; name"):
        games_from_text(TEXT.format(f"{source}:G", ""), "text")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("4453", "a saved game has lines game, options, .*; got '4453'"),
        ("game: connect4\n", "the line options of the saved game is missing"),
        ("game: connect4\ngame: connect4\n", "one line game, got two"),
        (TEXT.format("connect4", "4; 9"), "move 2: '9' is no move"),
        (TEXT.format("connect4", "4") + "seat: third\n", "seat must be first or second"),
        (TEXT.format("connect4", "4") + "result: won\n", "result must be a number, got won"),
    ],
)
def test_a_text_that_cannot_be_read_says_what_and_where(text: str, fault: str) -> None:
    with pytest.raises(ZerofleetError, match=fault):
        games_from_text(text, "text")


def test_an_action_is_not_taken_for_a_turn_that_is_written_alike() -> None:
    # With 2 and 1, 2/off is one checker borne off by the 2, or by both dice.
    points = [2, 1, *[0] * 21, -1]
    start = zf.games.get("backgammon").from_describe({"points": points, "dice": [2, 1]})
    actions = [start.action_from_text("2/off")]
    position = start.copy()
    position.play(actions[0])
    record = GameRecord(start, (actions[0], position.legal_actions()[0]))
    (read,) = games_from_text(games_to_text([record], "text"), "text")
    assert read.actions == record.actions


def test_a_turn_written_whole_is_the_same_as_its_moves() -> None:
    whole = TEXT.format("backgammon", "31; 8/5 6/5").replace("options:", "options: checkers=15")
    start = "start: 4HPwATDgc/ABMA opening"
    (record,) = games_from_text(whole.replace("start:", start), "text")
    assert games_to_text([record], "text").endswith("moves: 31; 8/5; 6/5\n")


# ---- files


@pytest.mark.parametrize(
    ("name", "given", "fault"),
    [
        ("game.sgf", "connect4", r"SGF is for gomoku line=5, not for connect4"),
        ("game.moves", "gomoku", "a list of columns is a game of connect4, not of gomoku"),
        ("game.mat", "connect4", "it is a game of <Game backgammon.*, not of <Game connect4>"),
        ("game.txt", "gomoku", "it is a game of <Game connect4>, not of <Game gomoku.*>"),
    ],
)
def test_a_file_of_another_game_is_refused(
    tmp_path: Path, name: str, given: str, fault: str
) -> None:
    texts = {
        "game.sgf": "(;GM[4]SZ[9])",
        "game.moves": "4453",
        "game.mat": HEAD,
        "game.txt": TEXT.format("connect4", ""),
    }
    (tmp_path / name).write_text(texts[name])
    with pytest.raises(ZerofleetError, match=f"{name}: {fault}"):
        read_games(tmp_path / name, game=zf.games.get(given))


@pytest.mark.parametrize(
    ("text", "file_format", "fault"),
    [
        (TEXT.format("connect4", "") + "result: nan\n", "text", "result must be a number, got nan"),
        (
            TEXT.format("gomoku", "").replace("options:", "options: size=9 size=15"),
            *("text", "the option size is given twice"),
        ),
        (f" Game {'1' * 5000}\n", "mat", "it has no line 'Game 1'"),
        (f"{HEAD}      Wins {'9' * 5000} points\n", "mat", "is neither a roll"),
        (f"{HEAD}      Wins 0 points\n", "mat", "is neither a roll"),
    ],
)
def test_numbers_that_no_game_has_are_refused(text: str, file_format: str, fault: str) -> None:
    with pytest.raises(BadText, match=fault):
        games_from_text(text, file_format)


@pytest.mark.parametrize(("name", "file_format"), [("gomoku", "sgf"), ("backgammon", "mat")])
def test_a_result_that_a_format_does_not_have_is_refused(name: str, file_format: str) -> None:
    record = GameRecord(zf.games.get(name).new_position(), awarded_first_player=0.5)
    with pytest.raises(ZerofleetError, match=r"no result of 0\.5"):
        games_to_text([record], file_format)


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadText, match=r"none.sgf cannot be read: No such file"):
        read_games(tmp_path / "none.sgf")
    (tmp_path / "rubbish.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadText, match=r"rubbish.txt: it is not text"):
        read_games(tmp_path / "rubbish.txt")
    with pytest.raises(ZerofleetError, match=r"unknown format 'pgn' of games; known: sgf, mat"):
        read_games(tmp_path / "rubbish.txt", "pgn")


def test_a_typed_move_that_is_no_utf_8_is_named() -> None:
    with pytest.raises(BadText, match="is not UTF-8"):
        actions_of_turn(zf.games.get("connect4").new_position(), "\udcff")
