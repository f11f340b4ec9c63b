"""GnuBG as a player and as a judge: the real program, and fakes that fail."""

import sys
from contextlib import closing
from pathlib import Path

import pytest
from outside_tools import needs_gnubg

import zerofleet as zf
from zerofleet.arena import gnubg
from zerofleet.arena.gnubg import Gnubg, GnubgPlayer
from zerofleet.arena.pairs import PairedGame, ask
from zerofleet.errors import EngineFailed, IllegalAction, Unsupported

START = "4HPwATDgc/ABMA"


@pytest.fixture(scope="module")
def game() -> zf.games.Game:
    return zf.games.get("backgammon")


def play_turn(player: GnubgPlayer, position: zf.games.Position) -> zf.games.Position:
    after = position.copy()
    while after.to_move == position.to_move:
        after.play(player.choose(after))
    return after


def bear_off(
    game: zf.games.Game, own: dict[int, int], other: dict[int, int], **more: object
) -> zf.games.Position:
    """Player 0's checkers and player 1's, by point as each counts them; the rest are off."""
    points = [0] * 24
    for point, number in own.items():
        points[point - 1] += number
    for point, number in other.items():
        points[24 - point] -= number
    return game.from_describe({"points": points, "player": 0, **more})


# ---- the player


@needs_gnubg
@pytest.mark.parametrize("seat", ["", " p=1"])
@pytest.mark.parametrize(
    ("roll", "play"),
    [
        ("31", "8/5 6/5"),
        ("42", "8/4 6/4"),
        ("61", "13/7 8/7"),
        ("65", "24/13"),
        ("11", "8/7(2) 6/5(2)"),
    ],
)
def test_the_opening_plays_are_those_that_everybody_makes(
    game: zf.games.Game, roll: str, play: str, seat: str
) -> None:
    position = game.from_text(f"{START} {roll}{seat}")
    wanted = position.copy()
    game.play_from_text(wanted, play)
    with GnubgPlayer(plies=0) as player:
        assert play_turn(player, position) == wanted


@needs_gnubg
def test_it_completes_a_turn_that_another_began_as_well_as_possible(game: zf.games.Game) -> None:
    # One die is left. Bearing off wins at once; the other player would win with any roll.
    position = bear_off(game, {2: 1, 1: 1}, {1: 1}, dice=[2, 1])
    position.play(position.action_from_text("2/off"))
    with GnubgPlayer(plies=0) as player:
        assert position.action_text(player.choose(position)) == "1/off"
    position = bear_off(game, {5: 1, 2: 1}, {1: 2}, dice=[2])
    with GnubgPlayer(plies=0) as player:
        assert position.action_text(player.choose(position)) == "2/off"  # 5/3 keeps two checkers


@needs_gnubg
def test_it_makes_legal_moves_and_does_not_favour_a_seat(game: zf.games.Game) -> None:
    games = [PairedGame(game, 1, number, 0, []) for number in range(200)]
    with GnubgPlayer(plies=0) as player:
        while in_flight := [each for each in games if each.in_progress]:
            ask(player, in_flight)
    points = [each.position.rewards()[0] for each in games]
    deviation = (sum(point**2 for point in points) / len(points)) ** 0.5
    assert abs(sum(points) / len(points)) < 1.96 * deviation / len(points) ** 0.5
    num_gammons = sum(abs(point) >= 2 for point in points)
    assert 0.18 < num_gammons / len(points) < 0.36  # good players: somewhat above a quarter


@needs_gnubg
def test_hypergammon_is_refused() -> None:
    position = zf.games.get("backgammon", checkers=3).new_position()
    position.play(position.chance_outcomes()[0][0])
    with GnubgPlayer(plies=0) as player, pytest.raises(Unsupported, match="checkers=15"):
        player.choose(position)


# ---- evaluations


@needs_gnubg
def test_a_race_with_one_checker_each_has_the_probability_of_its_rolls(game: zf.games.Game) -> None:
    # From the 6 point 27 of 36 rolls bear off; if not, the other player surely does.
    position = bear_off(game, {6: 1}, {1: 1})
    with closing(Gnubg(plies=0)) as judge:
        evaluation = judge.evaluate(position)
    assert evaluation.equity_on_roll == pytest.approx(0.5, abs=1e-3)
    assert evaluation.outcomes_on_roll == pytest.approx([0, 0, 0.75, 0.25, 0, 0], abs=1e-3)


@needs_gnubg
@pytest.mark.parametrize("plies", [0, 2])
@pytest.mark.parametrize(("other", "points"), [({13: 15}, 2), ({23: 15}, 3)])
def test_gammons_and_backgammons_count(
    game: zf.games.Game, other: dict[int, int], points: int, plies: int
) -> None:
    position = bear_off(game, {1: 1}, other)
    with closing(Gnubg(plies)) as judge:
        evaluation = judge.evaluate(position)
    assert evaluation.equity_on_roll == pytest.approx(points, abs=1e-3)
    rewards = [outcome.reward for outcome in game.outcomes]
    assert evaluation.outcomes_on_roll[rewards.index(points)] == pytest.approx(1, abs=1e-3)


@needs_gnubg
def test_only_positions_before_a_roll_are_evaluated(game: zf.games.Game) -> None:
    with (
        closing(Gnubg(plies=0)) as judge,
        pytest.raises(IllegalAction, match="before a roll"),
    ):
        judge.evaluate(game.from_text(f"{START} 31"))


# ---- what can go wrong


def test_gnubg_that_is_missing_is_an_error_with_its_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(gnubg, "DEBIAN_FOLDER", str(tmp_path))
    with pytest.raises(EngineFailed, match="Debian's package gnubg"):
        GnubgPlayer(plies=0)


@needs_gnubg
def test_a_folder_whose_name_is_too_long_for_a_socket_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("long" * 25)
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    with pytest.raises(EngineFailed, match=r"longlong.*set TMPDIR to a shorter"):
        GnubgPlayer(plies=0)
    assert list(folder.iterdir()) == []


@needs_gnubg
def test_gnubg_that_dies_is_an_error(game: zf.games.Game) -> None:
    with GnubgPlayer(plies=0) as player:
        player._gnubg._process.kill()
        player._gnubg._process.wait()
        with pytest.raises(EngineFailed, match=r"GnuBG .*exited with status -9"):
            player.choose(game.from_text(f"{START} 31"))


def test_levels_that_are_not_offered_are_refused() -> None:
    with pytest.raises(Unsupported, match="0 to 3 plies here, got 7"):
        GnubgPlayer(plies=7)


def put_program(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> None:
    """A program that is called gnubg; `address` is the socket that it must open."""
    lines = [
        f"#!{sys.executable}",
        "import pathlib, socket, sys, time",
        "address = pathlib.Path(sys.argv[-1]).read_text().split()[-1]",
        body,
    ]
    (folder / "gnubg").write_text("\n".join(lines))
    (folder / "gnubg").chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))


ANSWERS = """
server = socket.socket(socket.AF_UNIX)
server.bind(address)
server.listen()
stream = server.accept()[0].makefile("rw")
for line in stream:
    stream.write({answer!r})
    stream.flush()
"""


def test_a_failed_start_reports_the_last_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_program(tmp_path, monkeypatch, "sys.exit('no weights found')")
    with pytest.raises(EngineFailed, match=r"exited with status 1.*no weights found"):
        GnubgPlayer(plies=0)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("24/18 13/7\n", "played '24/18 13/7' .*does not fit the dice"),
        ("\n", "played '' "),
        ("Error: no board\n", "answered 'Error: no board'"),
        ("", "no answer within 0.5 s"),
        ("24/2", "no answer within 0.5 s"),
    ],
)
def test_an_unusable_answer_is_an_error_and_not_a_move(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    game: zf.games.Game,
    answer: str,
    fault: str,
) -> None:
    put_program(tmp_path, monkeypatch, ANSWERS.format(answer=answer))
    with GnubgPlayer(plies=0) as player:
        player._gnubg._socket.settimeout(0.5)
        monkeypatch.setattr(gnubg, "TIMEOUT_S", 0.5)
        with pytest.raises(EngineFailed, match=fault):
            player.choose(game.from_text(f"{START} 31"))
