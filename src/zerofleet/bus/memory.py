"""What roles say to one another: finished episodes one way, published weights the other.

In one process it is memory; the roles do not know. Everything here can be called from any thread,
and `stop` from a signal's handler.
"""

import threading
from collections.abc import Sequence
from typing import Any


class MemoryBus:
    """Holds the episodes that nobody has taken yet, and the newest weights."""

    def __init__(self) -> None:
        # Re-entrant, since a handler may come while its own thread has it.
        self._lock = threading.RLock()
        self._episodes: list[bytes] = []
        self._weights: tuple[int, dict[str, Any]] | None = None
        self._fault: BaseException | None = None
        self._stopping = False

    def send_episodes(self, episodes: Sequence[bytes]) -> None:
        with self._lock:
            self._episodes.extend(episodes)

    def take_episodes(self) -> list[bytes]:
        """All episodes that nobody has taken yet."""
        with self._lock:
            taken, self._episodes = self._episodes, []
            return taken

    def publish_weights(self, version: int, tensors: dict[str, Any]) -> None:
        with self._lock:
            self._weights = (version, tensors)

    def newer_weights(self, version: int) -> tuple[int, dict[str, Any]] | None:
        """The newest weights if they are newer than this version."""
        with self._lock:
            if self._weights is None or self._weights[0] <= version:
                return None
            return self._weights

    def stop(self, fault: BaseException | None = None) -> None:
        """Asks every role to end; `fault` is why, where something went wrong."""
        with self._lock:
            self._stopping = True
            self._fault = self._fault or fault

    @property
    def stopping(self) -> bool:
        with self._lock:
            return self._stopping

    def raise_fault(self) -> None:
        """Raises in the caller's thread what ended another role."""
        with self._lock:
            if self._fault is not None:
                raise self._fault
