"""The monitor on a terminal: looks at a fleet again and again, and obeys keys meanwhile.

A thread reads from Redis, so that a slow or absent server holds up no key. However the monitor
ends, the terminal is left as it was found; Ctrl-Z suspends it in the same way.
"""

import os
import select
import signal
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.live import Live

from zerofleet.bus import BusUnreachable
from zerofleet.bus.connect import RedisAddress
from zerofleet.bus.redis import RedisBus
from zerofleet.cli.monitor_controls import Controls, keys_in
from zerofleet.cli.monitor_head import Connection
from zerofleet.cli.monitor_picture import picture
from zerofleet.cli.output import TextConsole
from zerofleet.fleet.fleet_status import FleetStatus
from zerofleet.fleet.monitor import FleetMonitor, FleetView
from zerofleet.fleet.signals import GracefulStop

CTRL_Z = "\x1a"
MAX_TYPED = 1024
END_S = 1.0
"""How long the end waits for a look in flight."""


def watch(address: RedisAddress, run: str, interval_s: float) -> None:
    """Shows a fleet until `q`, Ctrl-C or SIGTERM. A Redis that cannot be reached is waited for."""
    console, stop, controls = TextConsole(), GracefulStop(), Controls()
    with (
        stop.on_signals(lambda: None),
        woken_by_signals() as (signalled, wake),
        closing(Looks(address, run, interval_s, wake)) as looks,
        Terminal(console) as terminal,
    ):
        view: FleetView | None = None
        while not (controls.is_ending or stop.requested):
            looks.raise_fault()
            if not controls.is_paused:
                view = looks.view
            connection = Connection(run, str(address), looks.why_unreachable)
            width, height = console.size
            terminal.show(picture(connection, view, controls, width, height))
            ready, _, _ = select.select([terminal.keyboard, signalled], [], [])
            if signalled in ready:
                os.read(signalled, MAX_TYPED)
            if terminal.keyboard in ready:
                typed = os.read(terminal.keyboard, MAX_TYPED)
                if not typed:
                    return  # the terminal is gone
                for key in keys_in(typed.decode(errors="replace")):
                    if key == CTRL_Z:
                        terminal.suspend()
                    controls = controls.pressed(key)
                controls = controls.within(view.roles if view is not None else [])


class Looks:
    """The newest view of a fleet, read in a thread; `on_look` is called there after each look."""

    def __init__(
        self, address: RedisAddress, run: str, interval_s: float, on_look: Callable[[], None]
    ) -> None:
        self.view: FleetView | None = None
        """None before the first look."""
        self.why_unreachable = ""
        """Why the last look failed; empty where it did not."""
        self._fault: Exception | None = None
        self._address, self._run, self._interval_s = address, run, interval_s
        self._on_look = on_look
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._look_until_ended, name="looks", daemon=True)
        self._thread.start()

    def raise_fault(self) -> None:
        """Raises what ended the looks, such as a wrong password."""
        if self._fault is not None:
            raise self._fault

    def close(self) -> None:
        self._ended.set()
        self._thread.join(END_S)

    def _look_until_ended(self) -> None:
        bus: RedisBus | None = None
        monitor = FleetMonitor()
        try:
            while not self._ended.is_set():
                try:
                    bus = bus or RedisBus(self._address, self._run)
                    status = FleetStatus.read(bus, self._run, bus.server)
                except BusUnreachable as fault:
                    self.why_unreachable = str(fault)
                else:
                    self.view = monitor.look(status, time.monotonic())
                    self.why_unreachable = ""
                self._on_look()
                self._ended.wait(self._interval_s)
        except Exception as fault:
            self._fault = fault
            self._on_look()
        finally:
            if bus is not None:
                bus.close()


class Terminal:
    """The alternate screen of this process's terminal, and its keys as they are pressed."""

    def __init__(self, console: Console) -> None:
        self.keyboard = sys.stdin.fileno()
        self._console = console

    def __enter__(self) -> Self:
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._give_back()

    def show(self, picture: RenderableType) -> None:
        self._live.update(picture, refresh=True)

    def suspend(self) -> None:
        """As Ctrl-Z does, until the shell resumes this job."""
        self._give_back()
        os.kill(0, signal.SIGTSTP)
        self._take()

    def _take(self) -> None:
        self._before = termios.tcgetattr(self.keyboard)
        mode = termios.tcgetattr(self.keyboard)
        mode[3] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
        termios.tcsetattr(self.keyboard, termios.TCSADRAIN, mode)
        self._live = Live(
            console=self._console,
            screen=True,
            auto_refresh=False,
            redirect_stdout=False,
            redirect_stderr=False,
        )
        self._live.start()

    def _give_back(self) -> None:
        self._live.stop()
        termios.tcsetattr(self.keyboard, termios.TCSADRAIN, self._before)


@contextmanager
def woken_by_signals() -> Iterator[tuple[int, Callable[[], None]]]:
    """A file to select on, which becomes readable at a signal, a resized terminal included, and
    when the function beside it is called, from any thread."""
    reading, writing = os.pipe()
    os.set_blocking(writing, False)

    def wake() -> None:
        with suppress(OSError):  # it is readable already, or the monitor has ended
            os.write(writing, b"\0")

    before = signal.signal(signal.SIGWINCH, lambda number, frame: None)
    fd_before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    try:
        yield reading, wake
    finally:
        signal.set_wakeup_fd(fd_before)
        signal.signal(signal.SIGWINCH, before)
        os.close(writing)
        os.close(reading)
