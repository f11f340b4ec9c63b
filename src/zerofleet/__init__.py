"""Trains superhuman agents for board and card games by self-play."""

from importlib.metadata import version

__version__ = version("zerofleet")
