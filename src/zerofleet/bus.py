"""What roles say to one another: finished episodes one way, published weights the other.

In one process it is memory; the roles do not know. Everything here can be called from any thread.
"""

import threading
from collections.abc import Sequence
from typing import Any


class MemoryBus:
    """Holds the episodes that nobody has taken yet, and the newest weights."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._episodes: list[bytes] = []
        self._weights: tuple[int, dict[str, Any]] | None = None
        self._fault: BaseException | None = None
        self._stopping = False

    def send_episodes(self, episodes: Sequence[bytes]) -> None:
        with self._changed:
            self._episodes.extend(episodes)
            self._changed.notify_all()

    def take_episodes(self, timeout_s: float) -> list[bytes]:
        """All episodes that wait, after waiting for one for at most so long."""
        with self._changed:
            self._changed.wait_for(lambda: self._episodes or self._ending(), timeout_s)
            taken, self._episodes = self._episodes, []
            return taken

    def publish_weights(self, version: int, tensors: dict[str, Any]) -> None:
        with self._changed:
            self._weights = (version, tensors)
            self._changed.notify_all()

    def newer_weights(self, version: int) -> tuple[int, dict[str, Any]] | None:
        """The newest weights if they are newer than this version."""
        with self._changed:
            if self._weights is None or self._weights[0] <= version:
                return None
            return self._weights

    def stop(self, fault: BaseException | None = None) -> None:
        """Asks every role to end; `fault` is why, where something went wrong."""
        with self._changed:
            self._stopping = True
            self._fault = self._fault or fault
            self._changed.notify_all()

    @property
    def stopping(self) -> bool:
        with self._changed:
            return self._stopping

    def raise_fault(self) -> None:
        """Raises in the caller's thread what ended another role."""
        with self._changed:
            if self._fault is not None:
                raise self._fault

    def _ending(self) -> bool:
        return self._stopping
