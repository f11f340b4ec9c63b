"""Trains superhuman agents for board and card games by self-play."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from zerofleet import arena, config, errors, games, runs, search, selfplay
from zerofleet._core import CHANCE, OVER
from zerofleet.infer.load import load

if TYPE_CHECKING:
    from zerofleet import fleet, infer, nets, replay, training, weights
    from zerofleet.fleet.api import train

__version__ = version("zerofleet")

__all__ = [
    "CHANCE",
    "OVER",
    "arena",
    "config",
    "errors",
    "fleet",
    "games",
    "infer",
    "load",
    "nets",
    "replay",
    "runs",
    "search",
    "selfplay",
    "train",
    "training",
    "weights",
]

# These take long to load, most of them torch, so only when they are used.
LOADED_WHEN_USED = {"train": "zerofleet.fleet.api"}
ROOMS_LOADED_WHEN_USED = {"fleet", "infer", "nets", "replay", "training", "weights"}


def __getattr__(name: str) -> Any:
    if name in ROOMS_LOADED_WHEN_USED:
        return import_module(f"zerofleet.{name}")
    if name not in LOADED_WHEN_USED:
        raise AttributeError(f"module zerofleet has no attribute {name}")
    return getattr(import_module(LOADED_WHEN_USED[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
