"""Trains superhuman agents for board and card games by self-play."""

from importlib.metadata import version

from zerofleet import errors, games, search, selfplay
from zerofleet._core import CHANCE, OVER

__version__ = version("zerofleet")

__all__ = ["CHANCE", "OVER", "errors", "games", "search", "selfplay"]
