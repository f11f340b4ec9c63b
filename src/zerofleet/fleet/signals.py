"""Ctrl-C and SIGTERM as a wish, not a blow."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


class GracefulStop:
    """Whether a person or the system has asked for an end.

    A handler takes no lock that the thread it interrupts may hold, unless it is a re-entrant one.
    """

    def __init__(self) -> None:
        self.asked = False

    @contextmanager
    def on_signals(self, when_asked: Callable[[], None]) -> Iterator[None]:
        """Within, the first signal makes the wish; a second Ctrl-C interrupts as always."""

        def ask(number: int, frame: FrameType | None) -> None:
            if self.asked:
                raise KeyboardInterrupt
            self.asked = True
            when_asked()

        numbers = (signal.SIGINT, signal.SIGTERM)
        before = {number: signal.signal(number, ask) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
