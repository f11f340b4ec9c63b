"""zerofleet queue and the source redis of zerofleet episodes, on a real Redis."""

import json
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest
from command_line import ZEROFLEET, Ran
from played_games import played
from redis_server import RedisServer, needs_redis
from redis_users import PASSWORDS, bus_of, server_with_users

from zerofleet.bus import Delivery, Sender
from zerofleet.bus.redis import RedisBus

pytestmark = needs_redis
PLAYED = played("connect4", 5, worker=8)[1]
GAMES = [episode.encode() for episode in PLAYED]
FIRST, SECOND = Sender("box-1", 7), Sender("box-2", 8)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    server = RedisServer(tmp_path_factory.mktemp("redis"), password="secret")
    yield server
    server.close()


@pytest.fixture
def bus(server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[RedisBus]:
    """A run for which two workers have sent: one a game, one four and an entry that is none."""
    server.client().flushall()
    monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{server.port}")
    monkeypatch.setenv("REDIS_PASSWORD", "secret")
    bus = RedisBus(server.address(), "c4")
    bus.send_episodes([Delivery(SECOND, number, data) for number, data in enumerate(GAMES[:4])])
    bus.send_episodes([Delivery(SECOND, 4, b"rubbish")])
    bus.send_episodes([Delivery(FIRST, 0, GAMES[4])])
    yield bus
    bus.close()


def test_the_queue_is_shown_per_worker_and_in_total(
    bus: RedisBus, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(capsys, "queue", "--run", "c4")
    assert (ran.status, ran.errors) == (0, "")
    header, first, second, total = ran.output.splitlines()
    assert header.split() == ["worker", "games", "size", "oldest"]
    assert first.split()[:2] == ["box-1", "1"]
    assert second.split()[:2] == ["box-2", "5"]
    assert total.startswith("in all 6 games, ")
    assert bus.backlog().num_episodes == 6


def test_games_that_wait_are_listed_and_stay(
    bus: RedisBus, capsys: pytest.CaptureFixture[str]
) -> None:
    ran = Ran(capsys, "episodes", "list", "redis", "--run", "c4", "--json")
    told = [json.loads(line) for line in ran.output.splitlines()]
    assert {each["id"] for each in told} == {f"8-{each.sequence}" for each in PLAYED}
    assert ran.errors.startswith("redis: game ")  # the entry that is none
    assert ran.errors.count("\n") == 1
    number, game_id = told[2]["game"], told[2]["id"]
    shown = Ran(capsys, "episodes", "show", "redis", game_id, "--run", "c4")
    assert shown.output.startswith(f"game {number} of redis, id {game_id}\n")
    assert bus.backlog().num_episodes == 6


def test_clearing_needs_the_name_twice_marks_what_is_cleared_and_says_so(
    bus: RedisBus, capsys: pytest.CaptureFixture[str]
) -> None:
    for extra in ([], ["--yes", "c5"]):
        assert Ran(capsys, "queue", "clear", "--run", "c4", *extra).status == 2
    assert bus.backlog().num_episodes == 6
    ran = Ran(capsys, "queue", "clear", "--run", "c4", "--yes", "c4")
    assert ran.output == "cleared 6 games of c4; workers will not send them again\n"
    assert bus.backlog().num_episodes == 0
    assert (bus.mark(FIRST), bus.mark(SECOND)) == (1, 5)


def test_a_person_is_asked_twice(
    bus: RedisBus, on_terminal: Callable[..., str], tmp_path: Path
) -> None:
    command = [str(ZEROFLEET), "queue", "clear", "--run", "c4"]
    screen = on_terminal(command, typed="y\nc4\n")
    assert "Discard 6 games, " in screen
    assert "Type the name of the run to clear it" in screen
    assert "cleared 6 games of c4" in screen
    assert bus.backlog().num_episodes == 0


def test_a_viewer_sees_what_waits_and_cannot_clear_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    server = server_with_users(tmp_path)
    with closing(server), closing(bus_of(server, "worker-box-1")) as worker:
        worker.send_episodes([Delivery(FIRST, 0, GAMES[0])])
        monkeypatch.setenv("REDIS_URL", f"redis://127.0.0.1:{server.port}")
        monkeypatch.setenv("REDIS_USER", "zf-run-viewer")
        monkeypatch.setenv("REDIS_PASSWORD", PASSWORDS["zf-run-viewer"])
        assert "box-1" in Ran(capsys, "queue", "--run", "run").output
        assert "8-" in Ran(capsys, "episodes", "list", "redis", "--run", "run").output
        ran = Ran(capsys, "queue", "clear", "--run", "run", "--yes", "run")
        assert (ran.status, ran.errors.count("\n")) == (2, 1)
        assert "does not allow this user what its role needs" in ran.errors
        assert "1" in Ran(capsys, "queue", "--run", "run").output


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ("queue --run nosuch", "redis://127.0.0.1:PORT has no run nosuch"),
        ("queue --run a/b", "run 'a/b' cannot be named in Redis: "),
        ("queue --run c4 --redis redis://127.0.0.1:1", "redis://127.0.0.1:1 cannot be reached: "),
        ("queue --run c4 --redis redis://:x@h", "--redis must not hold a password, which every "),
        ("queue clear --run c4", "there is no terminal to ask on; to clear 6 games, "),
        ("queue clear --run c4 --yes c5", "--yes c5: repeat the name of the run, c4"),
        ("episodes list redis", "the source redis needs --run NAME"),
        ("episodes list x.zfl --run c4", "--run and --redis are for the source redis, not for x"),
        ("episodes list redis --run c4 --game gomoku", "redis: it is a game of "),
    ],
)
def test_what_is_unavailable_is_reported_in_one_line(
    bus: RedisBus,
    server: RedisServer,
    capsys: pytest.CaptureFixture[str],
    arguments: str,
    fault: str,
) -> None:
    ran = Ran(capsys, *arguments.split())
    assert ran.status == 2
    assert ran.errors.startswith(f"zerofleet: {fault}".replace("PORT", str(server.port)))
    assert ran.errors.count("\n") == 1


def test_a_stream_without_games_is_said_to_be_empty(
    bus: RedisBus, capsys: pytest.CaptureFixture[str]
) -> None:
    bus.lead("this host", timeout_s=15)
    bus.publish_run(b"facts")
    bus.clear_backlog()
    assert Ran(capsys, "queue", "--run", "c4").output == "no game waits for the trainer\n"
    cleared = Ran(capsys, "queue", "clear", "--run", "c4").output
    assert cleared == "no game waits for the trainer; nothing is cleared\n"
    ran = Ran(capsys, "episodes", "list", "redis", "--run", "c4")
    assert ran.errors == "zerofleet: no game of c4 waits for the trainer\n"
