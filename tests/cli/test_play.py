"""zerofleet play: a person against an agent, as the person sees it."""

import json
import re
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from command_line import TRAIN_ONLY, ZEROFLEET, ran_in, ran_without

from zerofleet.cli.play import game_and_opponent
from zerofleet.cli.play_game import outcome_text
from zerofleet.cli.play_pictures import picture
from zerofleet.cli.play_record import OngoingGame, read_record
from zerofleet.games import get, read_games
from zerofleet.runs.folder import find

ALMOST_WON = """\
game: tictactoe
options: size=3 line=3 rule=freestyle
seat: first
against: random
start:
moves: a1; a3; b1; b3
"""


def played(
    arguments: str, *typed: str, folder: Path, runs: Path | None = None
) -> subprocess.CompletedProcess[str]:
    """A game in which these lines are typed, and then the end of the input."""
    return ran_in(
        folder,
        "play",
        *arguments.split(),
        typed="".join(f"{line}\n" for line in typed),
        ZEROFLEET_RUNS=str(runs or folder / "runs"),
    )


def test_a_won_game_ends_with_its_result_and_a_text_that_can_be_played_again(
    tmp_path: Path,
) -> None:
    (tmp_path / "almost.txt").write_text(ALMOST_WON)
    ran = played("tictactoe --load almost.txt", "c1", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "the game is over; for you: win (+1)" in ran.stdout
    text = ran.stdout[ran.stdout.rindex("game: ") :]
    assert text == ALMOST_WON.replace("b1; b3", "b1; b3; c1")
    (tmp_path / "whole.txt").write_text(text)
    assert read_record(tmp_path / "whole.txt", "tictactoe").position.rewards() == [1, -1]


def test_a_result_names_every_outcome_of_its_reward() -> None:
    outcomes = [*get("backgammon").outcomes, *get("connect4").outcomes]
    assert outcome_text(outcomes, 1) == "win single or win"
    assert outcome_text(outcomes, 2) == "win gammon"


def test_a_saved_game_is_resumed_where_it_was(tmp_path: Path) -> None:
    ran = played(
        "connect4 --against random --seat first --seed 1", "4", "save mine.txt", folder=tmp_path
    )
    assert "saved; resume with: " in ran.stdout
    assert "play connect4 --load mine.txt\n" in ran.stdout
    saved = read_record(tmp_path / "mine.txt", "connect4")
    assert saved.moves[0] == "4"
    assert len(saved.moves) == 2
    ran = played("connect4 --load mine.txt", "quit", folder=tmp_path)
    assert picture(saved.positions, 0) in ran.stdout


def test_the_seat_in_a_saved_game_can_be_changed(tmp_path: Path) -> None:
    (tmp_path / "almost.txt").write_text(ALMOST_WON)
    as_saved = played("tictactoe --load almost.txt", "quit", folder=tmp_path)
    assert "you are first, against random" in as_saved.stdout
    other = played("tictactoe --load almost.txt --seat second --seed 1", folder=tmp_path)
    assert other.returncode == 0
    assert "you are second, against random" in other.stdout
    assert "moves: a1; a3; b1; b3; " in other.stdout  # the opponent, now first, has moved
    assert "seat: second" in other.stdout


def test_undo_takes_back_the_users_move_and_the_reply(tmp_path: Path) -> None:
    ran = played(
        "connect4 --against random --seat first", "undo", "4", "undo", "quit", folder=tmp_path
    )
    assert "you have no move to take back" in ran.stdout
    assert re.search(r"^moves:$", ran.stdout, re.MULTILINE)


def test_a_move_that_makes_no_sense_says_what_is_legal(tmp_path: Path) -> None:
    ran = played("connect4 --against random --seat first", "9", folder=tmp_path)
    assert "'9' is no move; a move is a column 1-7\nlegal: 1, 2, 3, 4, 5, 6, 7\n" in ran.stdout


def test_a_turn_of_backgammon_is_written_whole_and_dice_are_shown(tmp_path: Path) -> None:
    for seed in range(20):
        seated = f"backgammon --against random --seat first --seed {seed}"
        ran = played(seated, folder=tmp_path)
        turn = re.search(r"^X to move with (\d)(\d)\nlegal: ([^,]+), ", ran.stdout, re.MULTILINE)
        if turn and "rolls" not in ran.stdout:
            break
    assert turn
    dice = rf"({turn[1]}-{turn[2]}|{turn[2]}-{turn[1]})"
    assert re.search(rf"^opening roll {dice}: you begin$", ran.stdout, re.MULTILINE)
    ran = played(seated, turn[3], folder=tmp_path)
    assert f"; {turn[3].replace(' ', '; ')}; " in ran.stdout
    told = r"random rolls \d-\d\nrandom plays (\S+) .*\n  \1: from (your point \d+|the bar) to your"
    assert re.search(told, ran.stdout)


def test_hint_and_thoughts_say_what_a_search_found(tmp_path: Path) -> None:
    (tmp_path / "almost.txt").write_text(ALMOST_WON)
    # c3 wins too, by two threats at once: which comes first depends on the seed.
    loaded = "tictactoe --load almost.txt --against playout-200 --seed 1"
    ran = played(loaded, "hint", folder=tmp_path)
    assert re.search(r"hint: value for you \+1\.00, proven: wins in 1 ply .*\n  c1 ", ran.stdout)
    ran = played(
        "connect4 --against playout-50 --seat first", "thoughts", "4", "thoughts", folder=tmp_path
    )
    assert "the opponent has not moved yet" in ran.stdout
    assert "playout-50 thought: value for it " in ran.stdout


def test_an_opponent_that_does_not_search_has_no_thoughts(tmp_path: Path) -> None:
    ran = played("connect4 --against random --seat second --thoughts", folder=tmp_path)
    assert "random does not search, so it has no analysis to show" in ran.stdout


@pytest.mark.parametrize("person", [0, 1])
def test_hidden_cards_are_never_shown(tmp_path: Path, person: int) -> None:
    """The opponent's hand and both piles, whatever is asked for; only what was played is seen."""
    seat = ("first", "second")[person]
    ran = played(
        f"beastybar --against playout-20 --seat {seat} --seed 4 --thoughts",
        *("moves", "thoughts", "undo", "?", "quit"),
        folder=tmp_path,
    )
    position = get("beastybar").new_position(4)
    answers = re.findall(r"plays (\w+)", ran.stdout)
    own_hand = {card[:-1] for card in position.describe()["hands"][person]}
    shown = set(re.findall(r"[a-z]+", re.sub(r"such as .*", "", ran.stdout).lower()))
    animals = {card[:-1] for piles in position.describe()["piles"] for card in piles}
    animals |= {card[:-1] for hand in position.describe()["hands"] for card in hand}
    assert len(animals) == 12
    assert shown & animals == own_hand | set(answers)


@pytest.mark.parametrize("game", ["backgammon", "beastybar", "gomoku"])
def test_what_a_person_sees_fits_a_terminal_of_80_columns(
    on_terminal: Callable[..., str], tmp_path: Path, game: str
) -> None:
    arguments = f"play {game} --against playout-50 --seed 2 --thoughts".split()
    typed = "?\nhint\nnonsense\nmoves\nthoughts\nquit\n"
    screen = on_terminal([str(ZEROFLEET), *arguments], typed, ZEROFLEET_RUNS=str(tmp_path))
    assert "value for you" in screen
    # What is typed ahead is shown before the prompts, so each of these ends without a new line.
    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen).replace("help): ", "help): \n")
    assert max(map(len, shown.splitlines())) <= 80


def test_a_resigned_game_is_shown_whole(tmp_path: Path) -> None:
    ran = played("beastybar --against random --seat first", "resign", folder=tmp_path)
    assert "you resign: random wins" in ran.stdout
    assert "deck1=" in ran.stdout


def test_the_end_of_the_input_leaves_the_game_cleanly(tmp_path: Path) -> None:
    ran = played("connect4 --against random", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "you left the game" in ran.stdout


def test_ctrl_c_leaves_the_game_cleanly(tmp_path: Path) -> None:
    with subprocess.Popen(
        [ZEROFLEET, "play", "connect4", "--against", "random", "--seat", "first"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    ) as process:
        assert process.stdout is not None
        while "legal" not in process.stdout.readline():
            pass
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (0, "")
    assert "you left the game" in output


def test_without_a_name_the_newest_run_plays_its_own_variant(
    trained: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(trained.runs))
    monkeypatch.setattr("zerofleet.weights.best.best_folder", lambda: trained.runs / "no weights")
    small = get("gomoku", size=3, line=3)
    assert game_and_opponent("gomoku", None, None) == (small, "run:ttt", None)
    assert game_and_opponent("tictactoe", None, None) == (small, "run:ttt", None)
    assert game_and_opponent("gomoku", None, "run:ttt,sims=9") == (small, "run:ttt,sims=9", None)
    nine = get("gomoku", size=9)
    assert game_and_opponent("gomoku", ["size=9"], None) == (nine, "playout-1000", None)
    assert game_and_opponent("connect4", None, None) == (get("connect4"), "playout-1000", None)


def test_shipped_weights_play_by_default_and_the_users_run_is_mentioned(
    trained: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ZEROFLEET_RUNS", str(trained.runs))
    monkeypatch.setattr("zerofleet.weights.best.best_folder", lambda: tmp_path)
    (tmp_path / "tictactoe").mkdir()
    small = get("gomoku", size=3, line=3)
    spec = {"spec": {"game": small.name, "game_options": small.options}}
    (tmp_path / "tictactoe" / "weights.json").write_text(json.dumps(spec))
    assert game_and_opponent("tictactoe", None, None) == (small, "best", find("ttt"))
    assert game_and_opponent("tictactoe", None, "random") == (small, "random", None)
    nine = get("gomoku", size=9)
    assert game_and_opponent("gomoku", ["size=9"], None) == (nine, "playout-1000", None)


def test_a_trained_run_can_be_played_against_without_torch(trained: Any) -> None:
    play = ("play", "tictactoe", "--against", "run:ttt,sims=8", "--seat", "first")
    ran = ran_without(TRAIN_ONLY, trained.runs, *play, typed="b2\n")
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "run:ttt,sims=8 plays" in ran.stdout


def test_a_trained_run_can_be_played_against(trained: Any, tmp_path: Path) -> None:
    ran = played("tictactoe --seat first", "b2", "thoughts", folder=tmp_path, runs=trained.runs)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "you are first, against run:ttt; seed" in ran.stdout
    assert "run:ttt thought: value for it " in ran.stdout


def test_the_example_in_the_help_of_play_runs(tmp_path: Path) -> None:
    ran = played("--help", folder=tmp_path)
    example = re.search(r"Example: zerofleet play (.+)", ran.stdout)
    assert example
    assert played(example[1], "quit", folder=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("conect4", "unknown game conect4; did you mean connect4?"),
        ("connect4 --against nobody", "unknown player 'nobody' of connect4; known: "),
        ("connect4 --against run:ttt", "unknown run ttt; known: none"),
        ("connect4 --load no.txt", "no.txt cannot be read: "),
        ("connect4 --load almost.txt", "almost.txt: it is a game of tictactoe, not of connect4"),
        (
            "tictactoe --load almost.txt --option size=4",
            "--option cannot be used with --load: a saved game has its options",
        ),
        ("connect4 --load two.moves", "two.moves has 2 games; extract one of them: "),
        ("gomoku --load two.moves", "two.moves: it is a game of connect4, not of gomoku"),
        ("gomoku --load bad.sgf", "bad.sgf: it is not SGF"),
        ("tictactoe --load bad.txt", "bad.txt: seat must be first or second, got third"),
    ],
)
def test_bad_input_to_play_is_one_clear_line_and_exit_status_2(
    tmp_path: Path, arguments: str, message: str
) -> None:
    (tmp_path / "almost.txt").write_text(ALMOST_WON)
    (tmp_path / "two.moves").write_text("4453\n44\n" if "connect4" in arguments else "44\n")
    (tmp_path / "bad.sgf").write_text("4453")
    (tmp_path / "bad.txt").write_text(ALMOST_WON.replace("first", "third"))
    ran = played(arguments, folder=tmp_path)
    assert ran.returncode == 2
    assert ran.stderr.startswith(f"zerofleet: {message}")
    assert ran.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("name", "file", "typed"),
    [("connect4", "mine.moves", "4"), ("gomoku --option size=9", "mine.sgf", "e5")],
)
def test_a_game_saved_in_the_format_of_other_programs_resumes(
    tmp_path: Path, name: str, file: str, typed: str
) -> None:
    seated = f"{name} --against random --seat first --seed 1"
    ran = played(seated, typed, f"save {file}", "quit", folder=tmp_path)
    (saved,) = read_games(tmp_path / file)
    assert len(saved.actions) == 2
    loaded = f"{name.split()[0]} --load {file} --against random"
    ran = played(loaded, "quit", folder=tmp_path)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert "you are first, against random" in ran.stdout  # who is to move
    assert f"moves: {typed}; " in ran.stdout


def test_a_format_of_another_game_is_refused_when_saving(tmp_path: Path) -> None:
    ran = played("connect4 --against random --seat first", "save mine.sgf", folder=tmp_path)
    assert "mine.sgf cannot be written: SGF is for gomoku line=5" in ran.stdout
    assert not (tmp_path / "mine.sgf").exists()


def test_a_turn_borne_off_by_both_dice_is_saved_move_by_move(tmp_path: Path) -> None:
    # 2/off with 2 and 1 is one action, or a whole turn; a turn is what a person types.
    points = [2, 1, *[0] * 21, -1]
    start = get("backgammon").from_describe({"points": points, "dice": [2, 1]})
    record = OngoingGame("backgammon", start.game, 0, "random", [start])
    record.play_text("2/off")
    assert record.moves == ["2/1", "1/off"]
    (tmp_path / "game.txt").write_text(record.text())
    assert read_record(tmp_path / "game.txt", "backgammon").position == record.position


@pytest.mark.parametrize("name", ["connect4", "gomoku", "backgammon", "beastybar"])
def test_a_game_is_read_back_as_it_was_written(tmp_path: Path, name: str) -> None:
    game = get(name)
    record = OngoingGame(name, game, 1, "random", [game.new_position(3)])
    for _ in range(6):
        position = record.position
        record.play((position.legal_actions() or [position.chance_outcomes()[0][0]])[-1])
    (tmp_path / "game.txt").write_text(record.text())
    found = read_record(tmp_path / "game.txt", name)
    assert [each.to_text() for each in found.positions] == [
        each.to_text() for each in record.positions
    ]
    assert found == record
