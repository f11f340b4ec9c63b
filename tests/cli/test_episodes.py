"""zerofleet episodes, as its users see it, on a run that was trained."""

import inspect
import json
import re
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from command_line import ZEROFLEET, Ran
from nim import Nim
from played_games import played

import zerofleet as zf
from zerofleet.arena.compare_games import MEASURES, compare
from zerofleet.bus import Sender
from zerofleet.cli.episodes_compare import print_comparison
from zerofleet.games import read_games
from zerofleet.selfplay.spool import GrowingSpool


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
    header, *newest = rows(Ran(capsys, "episodes", "list", "run:ttt"))
    assert header == ["game", "id", "plies", "result", "versions", "full", "fast", "none"]
    numbers = [int(row[0]) for row in newest]
    assert len(numbers) == 20
    assert numbers == list(range(numbers[0], numbers[0] - 20, -1))
    for row in newest:
        assert int(row[2]) == sum(map(int, row[5:]))  # every ply is a decision
    _, *longest = rows(Ran(capsys, "episodes", "list", "run:ttt", "--longest", "5"))
    assert len(longest) == 5
    assert {row[2] for row in longest} == {"9"}  # tic-tac-toe
    _, *lost = rows(Ran(capsys, "episodes", "list", "run:ttt", "--result", "loss", "--first", "9"))
    assert {row[3] for row in lost} == {"loss"}
    assert int(lost[0][0]) < int(lost[-1][0])


def test_one_game_is_shown_move_by_move(capsys: pytest.CaptureFixture[str]) -> None:
    _, row = rows(Ran(capsys, "episodes", "list", "run:ttt", "--last", "1", "--result", "win"))
    shown = rows(Ran(capsys, "episodes", "show", "run:ttt", row[1]))
    assert shown[0] == ["game", row[0], "of", "run:ttt,", "id", row[1]]
    assert shown[4][:2] == ["1", "first"]
    assert shown[-1] == ["X", "has", "won"]
    assert rows(Ran(capsys, "episodes", "show", "run:ttt", row[0])) == shown
    boards = Ran(capsys, "episodes", "show", "run:ttt", row[0], "--boards").output
    assert boards.count("to move") == int(row[2])
    assert boards.endswith("X has won\n")


def test_a_decision_shows_its_target_value_and_surprise(
    capsys: pytest.CaptureFixture[str],
) -> None:
    newest = next(reversed(zf.runs.games("ttt")))
    ply, decision = next(
        (ply, each) for ply, each in enumerate(newest.decisions(), 1) if each.kind == "full"
    )
    best = max(decision.policy, key=lambda action: decision.policy[action])
    shown = rows(Ran(capsys, "episodes", "show", "run:ttt"))
    row = next(row for row in shown[4:] if row[0] == str(ply))
    assert row[4:6] == [str(decision.version), f"{decision.value_to_move:+.3f}"]
    assert row[6] == f"{decision.surprise:.3f}"
    assert row[7] == decision.position.action_text(best)
    assert row[8].rstrip(",") == f"{decision.policy[best]:.0%}"


def test_json_has_what_the_table_has(capsys: pytest.CaptureFixture[str]) -> None:
    _, row = rows(Ran(capsys, "episodes", "list", "run:ttt", "--last", "1"))
    told = json.loads(Ran(capsys, "episodes", "list", "run:ttt", "--last", "1", "--json").output)
    assert [str(told["game"]), told["id"], str(told["plies"]), told["result"]] == row[:4]
    assert sum(told["searches"].values()) == told["plies"]


def test_a_file_or_folder_of_the_log_and_a_lone_episode_are_read_like_the_run(
    trained: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = trained.runs / "ttt" / "episodes"
    file = max(folder.glob("segment-*.zfl"))
    expected = rows(Ran(capsys, "episodes", "list", "run:ttt", "--last", "3"))
    for source in (folder, file):
        assert rows(Ran(capsys, "episodes", "list", str(source), "--last", "3")) == expected
    newest = next(reversed(zf.runs.games("ttt")))
    Path("one.zfe").write_bytes(newest.episode.encode())
    _, row = rows(Ran(capsys, "episodes", "list", "one.zfe"))
    assert row == ["0", *expected[1][1:]]
    damaged = bytearray(file.read_bytes())
    damaged[20] ^= 1
    Path("segment.zfl").write_bytes(damaged)
    ran = Ran(capsys, "episodes", "list", "segment.zfl", "--last", "1")
    assert newest.id in ran.output
    assert "its header is damaged" in ran.errors


def test_a_comparison_prints_every_measure_and_a_verdict(
    capsys: pytest.CaptureFixture[str],
) -> None:
    games = list(zf.runs.games("ttt"))
    print_comparison(compare(games[:60], games[60:]), ("early", "late"))
    first, second, header, *measures, verdict = capsys.readouterr().out.splitlines()
    assert first.startswith("A: early, 60 games: ")
    assert second.startswith(f"B: late, {len(games) - 60} games: ")
    assert header.split() == ["measure", "A", "B", "B", "-", "A", "95", "%", "interval", "p"]
    assert [line.split()[0] for line in measures] == MEASURES
    assert verdict.startswith(("The sets differ: ", "No difference was found"))


def test_a_comparison_as_json_says_what_it_does_not_know(
    capsys: pytest.CaptureFixture[str],
) -> None:
    other = played("tictactoe", 1, worker=9)[1][0]
    Path("one.zfe").write_bytes(other.encode())
    ran = Ran(capsys, "episodes", "compare", "run:ttt", "one.zfe", "--last", "30", "--json")
    told = json.loads(ran.output)
    assert told["games"] == [30, 1]
    assert told["measures"]["plies"]["second"] == [len(other.events), None, None]
    assert told["measures"]["plies"]["p"] is None
    assert told["verdict"].startswith("Too few games")


def test_tables_fit_a_terminal(trained: Any, on_terminal: Callable[..., str]) -> None:
    Path("one.zfe").write_bytes(played("tictactoe", 1, worker=9)[1][0].encode())
    for verb in ("list", "show", "compare one.zfe"):
        command = [str(ZEROFLEET), "episodes", *verb.split(), "run:ttt"]
        screen = on_terminal(command, ZEROFLEET_RUNS=str(trained.runs))
        lines = re.sub(r"\x1b\[[0-9;?]*\w", "", screen).splitlines()
        assert max(map(len, lines)) <= 80


def test_a_game_is_written_as_a_file_that_is_read_again(
    capsys: pytest.CaptureFixture[str],
) -> None:
    _, row = rows(Ran(capsys, "episodes", "list", "run:ttt", "--last", "1"))
    ran = Ran(capsys, "episodes", "export", "run:ttt", row[0], "--out", "game.txt")
    assert ran.output == f"game.txt: game {row[0]}\n"
    (record,) = read_games("game.txt")
    assert len(record.actions) == int(row[2])
    printed = Ran(capsys, "episodes", "export", "run:ttt", row[0], "--format", "text")
    assert printed.output == Path("game.txt").read_text()


def test_a_workers_spool_is_read_as_folder_and_file_while_it_grows(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, episodes = played("connect4", 3, worker=9)
    sender = Sender("box-1", 9)
    with closing(GrowingSpool(tmp_path, "run-id", sender, 1 << 20, 60)) as spool:
        spool.append([(episode.encode(), 1) for episode in episodes])
        (file,) = spool.folder.glob("*.games")
        for source in (spool.folder, file):
            _, *listed = rows(Ran(capsys, "episodes", "list", str(source)))
            expected = [[str(i), f"9-{each.sequence}"] for i, each in enumerate(episodes)]
            assert [row[:2] for row in listed] == expected[::-1]
        data = file.read_bytes()
        Path("torn.games").write_bytes(data[:-3])  # as while it is being written
        assert len(rows(Ran(capsys, "episodes", "list", "torn.games"))) == 1 + 2
        Path("damaged.games").write_bytes(data[:40] + b"?" + data[41:])
        ran = Ran(capsys, "episodes", "list", "damaged.games")
        assert len(ran.output.splitlines()) == 1 + 2
        assert ran.errors == "damaged.games: damaged from byte 0 on; skipped\n"


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("list run:ttt --result won", "gomoku has no result 'won'; known: win, draw, loss, trunca"),
        ("list run:ttt --last 2 --first 2", "--last, --first and --longest are mutually exclusive"),
        ("list run:ttt --game connect4", "--game cannot be used with run:ttt: a run knows its g"),
        ("list run:ttt --option size=3", "--option needs --game: it sets an option of that game"),
        ("list ttt", "there is no file ttt; a run is named run:NAME"),
        ("list .", ". has neither segment-*.zfl nor *.games; a run is named run:NAME"),
        ("show nim --game one.py:Nim", "nim: game 0: "),
        ("compare nim nim --game one.py:Nim", "nim: game 0: "),
        ("list text", "text holds no episodes: a file of a log begins with ZFL, of a spool with "),
        ("list torn", "torn: "),
        ("list one --game connect4", "one: it is a game of "),
        ("list nim", "nim: it is a game of nim, which is not built in; name that game to read it"),
        ("compare run:ttt run:ttt --last 9", "the sets share 9 games, such as "),
        ("compare run:ttt c4", "run:ttt is of gomoku size=3 line=3 rule=freestyle, c4 of connect4"),
        ("show run:ttt 9999", "no game 9999 in run:ttt; `zerofleet episodes list run:ttt` lists"),
        ("export run:ttt --out games.txt", "a text holds one game, not 20"),
        ("export run:ttt --format sgf", "SGF is for gomoku line=5, not for gomoku line=3"),
        ("export run:ttt --result truncated", "run:ttt has no such game, so nothing is written"),
        ("export run:ttt --out gone/game.sgf", "gone/game.sgf cannot be written"),
        ("export run:ttt 3 --last 2", "an ID names one game; leave out --last, --first, --longest"),
    ],
)
def test_what_is_unavailable_is_reported_in_one_line(
    capsys: pytest.CaptureFixture[str], arguments: str, fault: str
) -> None:
    one = next(iter(zf.runs.games("ttt"))).episode.encode()
    Path("one").write_bytes(one)
    Path("torn").write_bytes(one[:-3])
    Path("c4").write_bytes(played("connect4", 1)[1][0].encode())
    Path("text").write_text("4453")
    nim = zf.games.Episode.record(zf.games.from_class(Nim), 0, [2, 2, 2, 0])
    Path("nim").write_bytes(nim.encode())
    other_rules = inspect.getsource(inspect.getmodule(Nim)).replace("min(3,", "min(1,")
    Path("one.py").write_text(other_rules)
    ran = Ran(capsys, "episodes", *arguments.split())
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {fault}")
    assert ran.errors.count("\n") == 1
