"""zerofleet monitor on a real terminal and off it, with a real Redis and registered roles."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from command_line import ZEROFLEET, Ran
from redis_server import RedisServer, needs_redis, redis_server

from zerofleet.bus import RoleEntry
from zerofleet.bus.redis import RedisBus

pytestmark = needs_redis
__all__ = ["redis_server"]

PATIENCE_S = 60
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HOME, ALTERNATE_SCREEN, SCREEN_BEFORE = "\x1b[H", "\x1b[?1049h", "\x1b[?1049l"
HIDE_CURSOR, SHOW_CURSOR = "\x1b[?25l", "\x1b[?25h"


@pytest.fixture(autouse=True)
def size_of_the_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """These variables would count instead; processes of a parallel test run have them."""
    for name in ("COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)


class OnTerminal:
    """A monitor on a terminal of 24 lines: what it shows, and keys for it."""

    def __init__(self, redis: str, columns: int = 80) -> None:
        self._ours, self._theirs = pty.openpty()
        self.resize(columns)
        self.mode_before = self.mode
        self.written = ""
        command = [str(ZEROFLEET), "monitor", "--run", "c4", "--redis", redis]
        self.process = subprocess.Popen(
            [*command, "--interval", "0.1"],
            stdin=self._theirs,
            stdout=self._theirs,
            stderr=self._theirs,
            env={**os.environ, "TERM": "xterm-256color"},
        )
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        while True:
            try:
                self.written += os.read(self._ours, 65536).decode(errors="replace")
            except OSError:
                return

    @property
    def mode(self) -> Any:
        """Of the terminal: whether it echoes, and so on."""
        return termios.tcgetattr(self._theirs)

    def resize(self, columns: int) -> None:
        fcntl.ioctl(self._theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    @property
    def picture(self) -> str:
        """The last whole one."""
        frames = self.written.split(HOME)
        return CONTROL.sub("", frames[-2]) if len(frames) > 2 else ""

    def wait_for(self, holds: Callable[[str], object], what: str) -> str:
        end_s = time.monotonic() + PATIENCE_S
        while not holds(picture := self.picture):
            assert time.monotonic() < end_s, f"waited in vain for {what}:\n{self.written[-5000:]}"
            assert self.process.poll() is None, f"it ended before {what}:\n{self.written}"
            time.sleep(0.02)
        return picture

    def wait_for_text(self, text: str) -> str:
        return self.wait_for(lambda picture: text in picture, repr(text))

    def ended(self) -> int:
        """The exit status; the terminal is as it was before."""
        status = self.process.wait(PATIENCE_S)
        end_s = time.monotonic() + PATIENCE_S
        while SCREEN_BEFORE not in self.written or SHOW_CURSOR not in self.written:
            assert time.monotonic() < end_s, self.written[-500:]
            time.sleep(0.02)
        assert self.written.rindex(SCREEN_BEFORE) > self.written.rindex(ALTERNATE_SCREEN)
        assert self.written.rindex(SHOW_CURSOR) > self.written.rindex(HIDE_CURSOR)
        assert self.mode == self.mode_before
        return status

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self._theirs)
        os.close(self._ours)
        self._thread.join(PATIENCE_S)


def url(server: RedisServer) -> str:
    return f"redis://127.0.0.1:{server.port}"


def entry(role_id: str, kind: str = "worker", **counters: float) -> RoleEntry:
    return RoleEntry(
        role_id, kind, "this-host", "cpu", started=time.time(), doing="plays", counters=counters
    )


@contextmanager
def registered(server: RedisServer, *roles: RoleEntry) -> Iterator[None]:
    """Roles that have registered once."""
    with closing(RedisBus(server.address(), "c4")) as bus:
        for each in roles:
            bus.register(each)
        yield


@contextmanager
def on_terminal(server: RedisServer, columns: int = 80) -> Iterator[OnTerminal]:
    with closing(OnTerminal(url(server), columns)) as terminal:
        yield terminal


def test_keys_sort_filter_and_pause_until_q_leaves_the_terminal_as_it_was(
    redis_server: RedisServer,
) -> None:
    roles = [entry("box-1", version=7), entry("box-2", version=5), entry("judge", "rater")]
    with registered(redis_server, *roles), on_terminal(redis_server) as terminal:
        picture = terminal.wait_for_text("box-2")
        assert f"connected to {url(redis_server)}" in picture
        assert "no trainer  1 rater  2 workers" in picture
        assert picture.index("box-1") < picture.index("box-2")
        assert terminal.mode != terminal.mode_before

        terminal.press("sssss")
        picture = terminal.wait_for_text("sort: version")
        assert picture.index("box-2") < picture.index("box-1")

        terminal.press("/box-1")
        picture = terminal.wait_for_text("filter: box-1_")
        assert "box-2" not in picture
        terminal.press("\x1b")
        terminal.wait_for_text("box-2")

        terminal.press("p")
        terminal.wait_for_text("p paused")
        with registered(redis_server, entry("box-3")):
            terminal.press("?")
            assert "box-3" not in terminal.wait_for_text("reverse the order")
        terminal.press("?p")
        terminal.wait_for_text("box-3")

        terminal.press("q")
        assert terminal.ended() == 0


def test_a_resized_terminal_is_filled(redis_server: RedisServer) -> None:
    with registered(redis_server, entry("box-1")), on_terminal(redis_server) as terminal:
        assert "this-host" not in terminal.wait_for_text("box-1")
        terminal.resize(160)
        terminal.process.send_signal(signal.SIGWINCH)
        terminal.wait_for_text("this-host")
        terminal.press("\x03")
        assert terminal.ended() == 0


def test_without_redis_the_last_picture_stays_until_redis_is_back(
    redis_server: RedisServer,
) -> None:
    with on_terminal(redis_server) as terminal:
        with registered(redis_server, entry("box-1")):
            terminal.wait_for_text("box-1")
        redis_server.kill()
        picture = terminal.wait_for_text("cannot be reached")
        assert "box-1" in picture
        redis_server.start()
        with registered(redis_server, entry("box-2")):
            picture = terminal.wait_for_text("box-2")
        assert f"connected to {url(redis_server)}" in picture
        assert "1 worker gone" in picture
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.ended() == 0


def test_a_monitor_may_be_started_before_redis(redis_server: RedisServer) -> None:
    redis_server.kill()
    with on_terminal(redis_server) as terminal:
        terminal.wait_for_text("cannot be reached")
        redis_server.start()
        terminal.wait_for_text("no role is registered")
        terminal.press("q")
        assert terminal.ended() == 0


def test_a_wrong_password_ends_it_with_one_line_on_a_terminal_as_it_was(
    redis_server: RedisServer,
) -> None:
    redis_server.client().config_set("requirepass", "secret")
    with on_terminal(redis_server) as terminal:
        assert terminal.ended() == 2
        after = CONTROL.sub("", terminal.written[terminal.written.rindex(SCREEN_BEFORE) :])
        assert "REDIS_PASSWORD" in after
        assert "Traceback" not in after


@pytest.mark.parametrize("options", [[], ["--once"]])
def test_into_a_pipe_one_plain_picture_is_printed(
    redis_server: RedisServer, capsys: pytest.CaptureFixture[str], options: list[str]
) -> None:
    with registered(redis_server, entry("box-1", games=7), entry("trainer", "trainer")):
        ran = Ran(capsys, "monitor", "--run", "c4", "--redis", url(redis_server), *options)
    assert ran.status == 0
    assert "\x1b" not in ran.output
    assert "1 trainer  1 worker" in ran.output
    assert re.search(r"^box-1 +this-host +cpu ", ran.output, re.MULTILINE)
    assert "quit" not in ran.output


def test_into_a_pipe_a_redis_out_of_reach_is_an_error(
    redis_server: RedisServer, capsys: pytest.CaptureFixture[str]
) -> None:
    redis_server.kill()
    ran = Ran(capsys, "monitor", "--run", "c4", "--redis", url(redis_server))
    assert ran.status == 2
    assert "cannot be reached" in ran.errors
