"""Ctrl-C and SIGTERM as requests."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class GracefulStop:
    """Ctrl-C and SIGTERM as a request to stop.

    A handler must not take a non-reentrant lock: the interrupted thread may hold it.
    """

    def __init__(self) -> None:
        self.requested = False

    @contextmanager
    def on_signals(self, when_requested: Callable[[], None]) -> Iterator[None]:
        """In this context the first signal requests a stop; a second raises KeyboardInterrupt."""

        def handle(number: int, frame: FrameType | None) -> None:
            if self.requested:
                raise KeyboardInterrupt
            self.requested = True
            when_requested()

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, handle) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
