"""The Gomocup protocol in both directions: real processes that play well, badly or not at all."""

import sys
from pathlib import Path

import pytest
from command_line import ZEROFLEET

import zerofleet as zf
from zerofleet.arena import gomocup
from zerofleet.arena.gomocup import GomocupPlayer
from zerofleet.arena.gomocup_brain import Brain
from zerofleet.arena.player import Player
from zerofleet.arena.players import player
from zerofleet.errors import EngineFailed, Unsupported


@pytest.fixture
def game() -> zf.games.Game:
    return zf.games.get("gomoku", size=9)


def put_program(folder: Path, *lines: str) -> Path:
    path = folder / "engine"
    path.write_text("\n".join(lines) + "\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def our_engine(tmp_path: Path) -> Path:
    """Our own player behind the protocol: a real engine in a separate process."""
    return put_program(tmp_path, "#!/bin/sh", f"exec {ZEROFLEET} gomocup playout-500")


def scripted(folder: Path, start: str = "echo OK", move: str = "echo 2,0") -> Path:
    """An engine that writes down what it hears, and does these shell commands when asked."""
    return put_program(
        folder,
        "#!/bin/sh",
        "while read line; do",
        f'  echo "$line" >> {folder}/heard',
        '  case "$line" in',
        f"    START*|RESTART) {start} ;;",
        f"    BEGIN|DONE) {move} ;;",
        "    END) exit 0 ;;",
        "  esac",
        "done",
    )


# ---- a whole engine


@pytest.mark.parametrize("stones", ["b9 a1 c9 c3 d9 h2 e9 h7", "e5 b9 a1 c9 c3 d9 h2 e9 h7"])
def test_a_win_in_one_is_found_through_both_ends_from_both_seats(
    our_engine: Path, game: zf.games.Game, stones: str
) -> None:
    position = game.from_text(stones)
    with GomocupPlayer(our_engine, game) as engine:
        position.play(engine.choose(position))
    assert position.to_move == zf.OVER
    assert str(position).count("won") == 1


def test_a_match_is_played_against_an_engine(our_engine: Path) -> None:
    played = zf.arena.match("gomoku", f"gomocup:{our_engine}", "random", num_games=2, size=9)
    assert played.wins == 2


# ---- what we say


def test_the_position_goes_out_as_the_protocol_writes_it(
    tmp_path: Path, game: zf.games.Game
) -> None:
    with GomocupPlayer(scripted(tmp_path), game, turn_s=2.5) as engine:
        # Columns from the left, rows from the top; the player to move is 1.
        position = game.from_text("a9 i1 b7")
        assert position.action_text(engine.choose(position)) == "c9"
    heard = (tmp_path / "heard").read_text().splitlines()
    assert heard[0] == "START 9"
    assert "INFO timeout_turn 2500" in heard
    assert "INFO rule 0" in heard
    at = heard.index("BOARD")
    assert heard[at:] == ["BOARD", "0,0,2", "8,8,1", "1,2,2", "DONE", "END"]


def test_an_empty_board_is_a_begin_and_later_a_restart(tmp_path: Path, game: zf.games.Game) -> None:
    with GomocupPlayer(scripted(tmp_path), game) as engine:
        engine.choose_many([game.new_position()] * 2, [1, 1])
    heard = [
        line
        for line in (tmp_path / "heard").read_text().splitlines()
        if not line.startswith("INFO")
    ]
    assert heard == ["START 9", "BEGIN", "RESTART", "BEGIN", "END"]


def test_the_rule_of_exactly_five_is_sent_to_the_engine(tmp_path: Path) -> None:
    exact = zf.games.get("gomoku", size=15, rule="exact")
    with GomocupPlayer(scripted(tmp_path), exact) as engine:
        engine.choose(exact.new_position())
    heard = (tmp_path / "heard").read_text().splitlines()
    assert "START 15" in heard
    assert "INFO rule 1" in heard


def test_chatter_is_not_taken_for_a_move(tmp_path: Path, game: zf.games.Game) -> None:
    chatter = "echo MESSAGE depth 3; echo DEBUG 1,1; echo UNKNOWN command; echo; "
    with GomocupPlayer(
        scripted(tmp_path, chatter + "echo OK", chatter + "echo 2,0"), game
    ) as engine:
        assert engine.choose(game.new_position()) == 2


def test_an_engine_that_drops_immediate_input_gets_every_command(
    tmp_path: Path, game: zf.games.Game, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zerofleet.arena.gomocup.PAUSE_S", 0.1)  # on a busy machine it reads late
    path = put_program(
        tmp_path,
        f"#!{sys.executable}",
        "import os, time",
        "for number in range(100):",
        "    text = os.read(0, 9999).decode()",
        "    if 'END' in text: break",
        "    answer = 'OK' if 'START' in text else '2,0' if 'BEGIN' in text else ''",
        "    print(answer, flush=True)",
        "    time.sleep(0.001)",
        "    os.set_blocking(0, False)",
        "    try: os.read(0, 9999)",
        "    except BlockingIOError: pass",
        "    os.set_blocking(0, True)",
    )
    with GomocupPlayer(path, game) as engine:
        assert engine.choose_many([game.new_position()] * 5, [1] * 5) == [2] * 5


# ---- what can go wrong


@pytest.mark.parametrize(
    ("move", "fault"),
    [
        ("echo 0,0", "answered '0,0' in .*a9"),
        ("echo 9,0", "answered '9,0'"),
        ("echo hello", "answered 'hello'"),
        ("echo ERROR out of memory", "reported an error; .*ERROR out of memory"),
        ("exit 3", "exited without an answer"),
        (":", "no answer within 0.4 s"),
    ],
)
def test_an_unusable_answer_is_an_error_and_not_a_move(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, game: zf.games.Game, move: str, fault: str
) -> None:
    monkeypatch.setattr(gomocup, "GRACE_S", 0.3)
    with (
        GomocupPlayer(scripted(tmp_path, move=move), game, turn_s=0.1) as engine,
        pytest.raises(EngineFailed, match=fault),
    ):
        engine.choose(game.from_text("a9"))


def test_a_second_answer_is_an_error_and_not_the_next_move(
    tmp_path: Path, game: zf.games.Game
) -> None:
    with GomocupPlayer(scripted(tmp_path, move="echo 2,0; echo 3,0"), game) as engine:
        assert engine.choose(game.from_text("a9")) == 2
        with pytest.raises(EngineFailed, match="printed '3,0' before it was sent BOARD"):
            engine.choose(game.from_text("a9 c9 b9"))


def test_a_board_size_that_the_engine_refuses_is_reported_in_its_words(
    tmp_path: Path, game: zf.games.Game
) -> None:
    path = scripted(tmp_path, start="echo ERROR unsupported size")
    with pytest.raises(EngineFailed, match="ERROR unsupported size"):
        GomocupPlayer(path, game)


def test_a_file_that_is_no_program_is_named(tmp_path: Path, game: zf.games.Game) -> None:
    with pytest.raises(EngineFailed, match="nothing-here cannot be started"):
        GomocupPlayer(tmp_path / "nothing-here", game)


def test_only_lines_of_five_can_be_played(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="line=5"):
        GomocupPlayer(tmp_path, zf.games.get("gomoku", size=6, line=4))


# ---- what we answer


def answers(*commands: str, text: str = "playout-500") -> list[str]:
    asked: list[zf.games.Game] = []

    def make(game: zf.games.Game) -> Player:
        asked.append(game)
        return player(game, text)

    brain = Brain(make)
    said = list(brain.answers(commands))
    brain.close()
    return said + [f"rule {game.options['rule']}" for game in asked]


def test_our_brain_completes_five_on_the_top_row() -> None:
    stones = ["1,0,1", "0,8,2", "2,0,1", "3,7,2", "3,0,1", "0,0,2", "4,0,1", "7,3,2"]
    assert answers("START 9", "BOARD", *stones, "DONE", "END") == ["OK", "5,0", "rule freestyle"]


def test_our_brain_answers_turns_in_a_row() -> None:
    said = answers("START 9", "BEGIN", "TURN 0,0", "TURN 0,1", "RESTART", "TURN 4,4", "END")
    assert [said[0], said[4], said[6]] == ["OK", "OK", "rule freestyle"]
    moves = [said[number] for number in (1, 2, 3)]
    assert len({*moves, "0,0", "0,1"}) == 5
    assert said[5] != "4,4"


def test_our_brain_accepts_the_rule() -> None:
    assert answers("START 9", "INFO rule 1", "INFO timeout_turn 5", "BEGIN", text="random")[-1] == (
        "rule exact"
    )


@pytest.mark.parametrize(
    ("commands", "last"),
    [
        (["START 99"], "ERROR gomoku: "),
        (["BEGIN"], "ERROR no game yet"),
        (["START 9", "TURN 9,9"], "ERROR '9,9' is not an empty cell"),
        (["START 9", "BOARD", "1,1,1", "1,1,2", "DONE"], "ERROR '1,1,2' is not an empty cell"),
        (["START 9", "DANCE"], "UNKNOWN DANCE"),
        (["ABOUT"], 'name="zerofleet"'),
    ],
)
def test_our_brain_says_what_is_wrong(commands: list[str], last: str) -> None:
    assert answers(*commands)[-1].startswith(last)
