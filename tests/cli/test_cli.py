"""The command line, as its users see it."""

import re
import signal
import subprocess
from importlib.metadata import version

import pytest
from command_line import ZEROFLEET, Ran, example_of

import zerofleet as zf
from zerofleet.config import preset_names


def test_games_lists_every_game_with_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "games")
    assert ran.status == 0
    header, *rows = ran.output.splitlines()
    assert header.split()[:2] == ["game", "actions"]
    assert [row.split()[0] for row in rows] == zf.games.names()
    assert zf.games.names() == ["backgammon", "beastybar", "connect4", "gomoku", "tictactoe"]
    assert "size=15 (3…19), line=5 (3…6), rule=freestyle (freestyle or exact)" in ran.output


def test_check_says_how_many_games_had_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "check", "gomoku", "--option", "size=5", "--games", "20")
    assert ran.status == 0
    assert "no fault in 20 games" in ran.output


def test_show_draws_a_position_and_lists_what_can_be_played(
    capsys: pytest.CaptureFixture[str],
) -> None:
    ran = Ran(capsys, "show", "connect4", "444444")
    assert ran.status == 0
    assert " 1 . . . X . . .\n" in ran.output
    assert ran.output.endswith("text: 444444\nlegal: 1, 2, 3, 5, 6, 7\n")


def test_show_gives_the_chances_before_a_roll(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "show", "backgammon", "4HPwATDgc/ABMA")
    assert "  11  2.78%\n" in ran.output
    assert "  21  5.56%\n" in ran.output


def test_show_gives_the_rewards_of_a_finished_game(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "show", "connect4", "4141414")
    assert ran.output.endswith("rewards: +1 -1\n")


def test_show_begins_a_new_game_where_no_text_is_given(capsys: pytest.CaptureFixture[str]) -> None:
    deals = [Ran(capsys, "show", "beastybar", "--seed", seed).output for seed in "112"]
    assert deals[0] == deals[1] != deals[2]


@pytest.mark.parametrize("root", ["puct", "gumbel"])
def test_analyse_lists_the_best_move_first(capsys: pytest.CaptureFixture[str], root: str) -> None:
    player = f"playout-400,root={root}"
    ran = Ran(capsys, "analyse", "connect4", "121212", "--player", player)
    assert ran.status == 0
    lines = ran.output.splitlines()
    (header,) = (number for number, line in enumerate(lines) if line.startswith("action"))
    assert lines[header].split() == ["action", "visits", "policy", "value", "prior"]
    assert lines[header + 1].split()[0] == "1"
    assert lines[-1] == "line: 1"


def test_analyse_without_a_player_says_who_searches(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "analyse", "connect4", "121212", "--simulations", "20")
    assert "player: best,sims=20 (zerofleet ships weights for connect4)\n" in ran.output
    ran = Ran(capsys, "analyse", "gomoku", "--option", "size=5", "--seconds", "0.01")
    assert "player: playout,seconds=0.01 (zerofleet ships no weights for gomoku" in ran.output


def test_analyse_lists_as_many_moves_as_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    ran = Ran(capsys, "analyse", "gomoku", "--option", "size=7", "--top", "3")
    assert "… 46 more\n" in ran.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "gomku"], "unknown game gomku; did you mean gomoku? known: gomoku, connect4, "),
        (["show", "gomoku", "--option", "siz=9"], "gomoku: unknown option siz; did you mean size?"),
        (["show", "gomoku", "--option", "size"], "--option must be NAME=VALUE, such as size=9;"),
        (["show", "connect4", "44x"], "'x' is no move; a move is a column 1-7"),
        (["analyse", "connect4", "4141414"], "the game is over: there is nothing to search"),
        (["analyse"], "GAME is missing: name one, such as connect4, or use --json"),
        (["analyse", "connect4", "--player", "heuristic"], "player 'heuristic' does not search"),
        (
            ["analyse", "connect4", "--player", "best,greedy"],
            "player 'best,greedy' does not search",
        ),
        (
            ["analyse", "connect4", "--player", "best,sims=0"],
            "player 'best,sims=0' does not search",
        ),
        (
            ["analyse", "connect4", "--player", "playout-5", "--simulations", "6"],
            "player 'playout-5,sims=6': sims is given twice",
        ),
        (
            ["analyse", "connect4", "--player", "playout,root=gumbel", "--seconds", "1"],
            "player 'playout,root=gumbel,seconds=1': root=gumbel needs a fixed number of",
        ),
        (["analyse", "connect4", "4", "--json"], "TEXT cannot be used with --json"),
        (["analyse", "--json", "--option", "size=9"], "--option needs GAME"),
        (
            ["export", "c4", "no/c4.onnx"],
            "no/c4.onnx cannot be written: no must be a writable folder",
        ),
    ],
)
def test_bad_input_is_one_clear_line_and_exit_status_2(
    capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    ran = Ran(capsys, *arguments)
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {message}")
    assert ran.errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["show"],
        ["show", "connect4", "--seed", str(2**64)],
        ["analyse", "connect4", "--simulations", "0"],
    ],
)
def test_a_wrong_command_line_is_exit_status_2_too(
    capsys: pytest.CaptureFixture[str], arguments: list[str]
) -> None:
    ran = Ran(capsys, *arguments)
    assert ran.status == 2
    assert "Error: " in ran.errors


@pytest.mark.parametrize("game", ["backgammon", "beastybar", "connect4", "tictactoe"])
def test_the_help_of_train_names_the_presets(capsys: pytest.CaptureFixture[str], game: str) -> None:
    words = set(re.findall(r"\w+", Ran(capsys, "train", "--help").output))
    assert set(preset_names(game)) <= words


@pytest.mark.parametrize("verb", ["games", "check", "show", "analyse", "solve"])
def test_the_help_of_each_verb_has_an_example_that_runs(
    capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    example = example_of(capsys, verb)
    assert Ran(capsys, *example).status == 0


@pytest.mark.parametrize("group", [[], ["cloud"], ["fleet"], ["runs"], ["episodes"]])
def test_the_list_of_commands_shows_each_summary_whole(
    capsys: pytest.CaptureFixture[str], group: list[str]
) -> None:
    commands = Ran(capsys, *group, "--help").output.partition("Commands:\n")[2].splitlines()
    assert commands
    assert [line for line in commands if not line.endswith(".") or line.endswith("...")] == []


def test_the_installed_command_says_its_version() -> None:
    ran = subprocess.run([ZEROFLEET, "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout == f"zerofleet {version('zerofleet')}\n"


def test_nothing_is_coloured_or_folded_off_a_terminal() -> None:
    ran = subprocess.run([ZEROFLEET, "games"], capture_output=True, text=True, check=True)
    assert "\x1b" not in ran.stdout
    assert len(ran.stdout.splitlines()) == 6


@pytest.mark.parametrize(
    "arguments",
    [
        ["check", "gomoku", "--games", "100000000"],
        ["analyse", "gomoku", "--player", "playout-4000000000"],
    ],
    ids=["check", "analyse"],
)
def test_ctrl_c_ends_long_work_without_a_traceback(arguments: list[str]) -> None:
    with subprocess.Popen(
        [ZEROFLEET, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()  # it has begun
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert errors == ""
