"""Puts the roles of self-play training together. `zf.train` is the entry point."""

from zerofleet.fleet.callbacks import StepInfo, VersionInfo

__all__ = ["StepInfo", "VersionInfo"]
