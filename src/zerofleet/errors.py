"""What can go wrong, by kind. The text says what was wrong, where, and what would be right.

The core raises these by name, one for each kind of fault that it knows.
"""

from pydantic import ValidationError


class ZerofleetError(Exception):
    """The base of all errors that zerofleet raises by itself."""


class BadText(ZerofleetError, ValueError):
    """A text, value or description that makes no sense."""


class IllegalAction(ZerofleetError, ValueError):
    """An action or call that is not allowed in this position."""


class BadBytes(ZerofleetError, ValueError):
    """Bytes that end too early or are damaged."""


class Unsupported(ZerofleetError, ValueError):
    """A name, option or version that this build does not know."""


class TooLarge(ZerofleetError, ValueError):
    """Something over a stated bound."""


class Inconsistent(ZerofleetError, ValueError):
    """Well-formed, but it contradicts the rules, or the contract of a game."""


class RulesFailed(ZerofleetError, RuntimeError):
    """The code of a custom game raised, threw or crashed."""


class DiskFull(ZerofleetError):
    """There is no room to write; what was there before is as it was, and it can be tried again."""


class EngineFailed(ZerofleetError, RuntimeError):
    """A program of others that is missing, ended, kept silent or gave an answer of no use."""


def first_fault(error: ValidationError) -> str:
    """The first thing that pydantic found, in one line."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(map(str, fault["loc"]))
    return f"{where}: {fault['msg']}" if where else fault["msg"]


__all__ = [
    "BadBytes",
    "BadText",
    "DiskFull",
    "EngineFailed",
    "IllegalAction",
    "Inconsistent",
    "RulesFailed",
    "TooLarge",
    "Unsupported",
    "ZerofleetError",
]
