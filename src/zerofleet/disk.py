"""A disk that may be full: whoever writes waits for room, says so, and goes on by itself.

    disk = Disk(say=print)
    disk.write(lambda: write_whole(path, data))

What is written so may be tried several times, so it must be there whole or not at all.
"""

import threading
import time
from collections.abc import Callable

from zerofleet.errors import DiskFull
from zerofleet.files import NO_ROOM

RETRY_S = 5.0
LOOK_S = 0.1
"""How often whoever waits looks whether the run is to end."""


class Disk:
    """What a run writes goes through here, from any of its threads.

    While `wants_end` says that a person wants the run to end, nobody waits: DiskFull is raised.
    """

    def __init__(
        self, say: Callable[[str], None] = print, wants_end: Callable[[], bool] = lambda: False
    ) -> None:
        self._say = say
        self._wants_end = wants_end
        self._waiting: set[int] = set()
        """The threads that wait for room."""

    @property
    def is_full(self) -> bool:
        """Whether somebody waits for room."""
        return bool(self._waiting)

    def write(self, write: Callable[[], object]) -> None:
        """Calls it, again and again while it finds no room."""
        thread = threading.get_ident()
        try:
            while (fault := no_room_for(write)) is not None:
                if self._wants_end():
                    raise DiskFull(
                        f"ended while the disk was full: {fault}; free some space, and the same "
                        "command goes on from what was written"
                    )
                if thread not in self._waiting:
                    self._waiting.add(thread)
                    self._say(f"paused: {fault}; trying again every {RETRY_S:g} s")
                self._pause()
        finally:
            self._waiting.discard(thread)

    def _pause(self) -> None:
        end_s = time.monotonic() + RETRY_S
        while time.monotonic() < end_s and not self._wants_end():
            time.sleep(LOOK_S)


def no_room_for(write: Callable[[], object]) -> Exception | None:
    """Writes. Where that finds no room, what it was told."""
    try:
        write()
    except DiskFull as fault:
        return fault
    except OSError as fault:
        if fault.errno not in NO_ROOM:
            raise
        return fault
    return None
