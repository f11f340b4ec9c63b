"""Trains superhuman agents for board and card games by self-play."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from zerofleet import arena, errors, games, runs, search, selfplay
from zerofleet._core import CHANCE, OVER
from zerofleet.infer.load import load

if TYPE_CHECKING:
    from zerofleet.fleet.api import train

__version__ = version("zerofleet")

__all__ = [
    "CHANCE",
    "OVER",
    "arena",
    "errors",
    "games",
    "load",
    "runs",
    "search",
    "selfplay",
    "train",
]

# Loads torch, so only when it is used.
LOADED_WHEN_USED = {"train": "zerofleet.fleet.api"}


def __getattr__(name: str) -> Any:
    if name not in LOADED_WHEN_USED:
        raise AttributeError(f"module zerofleet has no attribute {name}")
    return getattr(import_module(LOADED_WHEN_USED[name]), name)
