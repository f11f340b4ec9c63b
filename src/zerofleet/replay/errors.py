"""What can go wrong with the replay beyond bad bytes."""

from zerofleet.errors import DiskFull, ZerofleetError


class LogFull(DiskFull):
    """There is no room for more episodes; the log is as it was, and append can be tried again."""


class LogInUse(ZerofleetError):
    """Another process has this log open."""
