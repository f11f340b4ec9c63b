"""Runs: all roles of self-play training put together. `zf.train` is the way in."""

from zerofleet.fleet.callbacks import StepInfo, VersionInfo

__all__ = ["StepInfo", "VersionInfo"]
