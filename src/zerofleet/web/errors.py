"""Errors that only a server has."""

from zerofleet.errors import ZerofleetError


class Refused(ZerofleetError):
    """A request that is refused whatever it asks, with its HTTP status."""

    def __init__(self, status: int, code: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.code = code


def busy(message: str) -> Refused:
    """Everything is in use; the same request may succeed later."""
    return Refused(429, "busy", message)


def unknown(message: str) -> Refused:
    """What the request names does not exist."""
    return Refused(404, "unknown", message)
