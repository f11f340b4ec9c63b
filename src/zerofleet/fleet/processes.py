"""Child processes that end with their parent, and whose lines begin with their names."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

GUARD = Path(__file__).with_name("guard.py")
POLL_S = 0.1

OnLine = Callable[[str, str], None]
"""Gets a process's name and a line that it printed, in a thread of that process's own."""


class Process:
    """A command under a guard. Ctrl-C in the terminal does not reach it: its parent ends it."""

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        on_line: OnLine,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self._on_line = on_line
        self._process = subprocess.Popen(
            guarded(command),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(environment or {})},
        )
        self._reader = threading.Thread(target=self._read, name=f"lines of {name}", daemon=True)
        self._reader.start()

    @property
    def exit_status(self) -> int | None:
        """None while it runs."""
        return self._process.poll()

    def terminate(self) -> None:
        """Asks it to end."""
        if self.exit_status is None:
            self._process.terminate()

    def wait(self, timeout_s: float) -> int | None:
        """Its exit status, once all its lines were read; None if it has not ended in time."""
        try:
            self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return None
        self._close()
        return self._process.returncode

    def kill(self) -> None:
        """Ends it and its guard at once."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._close()

    def _close(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._reader.join()

    def _read(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._on_line(self.name, line.rstrip("\n"))


def end(processes: Sequence[Process], patience_s: float) -> None:
    """Asks processes to end, all at once; kills those that have not ended in time."""
    for process in processes:
        process.terminate()
    end_s = time.monotonic() + patience_s
    for process in processes:
        if process.wait(max(0.0, end_s - time.monotonic())) is None:
            process.kill()


def guarded(command: Sequence[str]) -> list[str]:
    """The command line that runs a command under a guard."""
    return [sys.executable, "-I", "-S", str(GUARD), *command]


def own_command(*arguments: str) -> list[str]:
    """The command line that runs a verb of this zerofleet."""
    return [sys.executable, "-m", "zerofleet", *arguments]
