"""The errors that zerofleet raises. Each message says what is wrong, where, and what is right.

The core raises these by name, one for each of its fault kinds.
"""

from pydantic import ValidationError


class ZerofleetError(Exception):
    """Base class of all zerofleet errors."""


class BadText(ZerofleetError, ValueError):
    """Malformed text, value or setting."""


class IllegalAction(ZerofleetError, ValueError):
    """An action or call that is illegal in this position."""


class BadBytes(ZerofleetError, ValueError):
    """Truncated or damaged bytes."""


class Unsupported(ZerofleetError, ValueError):
    """A name, option or version that this build does not know."""


class TooLarge(ZerofleetError, ValueError):
    """A value above its stated limit."""


class Inconsistent(ZerofleetError, ValueError):
    """Well-formed input that contradicts the rules, the game contract or other input."""


class RulesFailed(ZerofleetError, RuntimeError):
    """The code of a custom game raised an exception or crashed."""


class DiskFull(ZerofleetError):
    """No space left to write. Existing data is unchanged, and the write can be retried."""


class EngineFailed(ZerofleetError, RuntimeError):
    """An external engine is missing, exited, timed out or gave an unusable answer."""


def first_fault(error: ValidationError) -> str:
    """The first error that pydantic reports, in one line."""
    fault = error.errors(include_url=False)[0]
    where = ".".join(map(str, fault["loc"]))
    what = fault["msg"].removeprefix("Value error, ")
    return f"{where}: {what}" if where else what


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
