"""Self-play training for board and card games, in the style of AlphaZero."""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from zerofleet import (
    _core,
    arena,
    config,
    errors,
    fleet,
    games,
    infer,
    replay,
    runs,
    search,
    selfplay,
    solve,
    weights,
)
from zerofleet.infer.load import load

if TYPE_CHECKING:
    from zerofleet import nets, training
    from zerofleet.fleet.api import train

__version__ = version("zerofleet")

CHANCE: int = _core.CHANCE
"""The value of `position.to_move` at a chance node, such as a dice roll."""

OVER: int = _core.OVER
"""The value of `position.to_move` when the game is over."""

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
    "solve",
    "train",
    "training",
    "weights",
]

# Imported on first use: they load torch.
LAZY = {"nets", "train", "training"}


def __getattr__(name: str) -> Any:
    if name not in LAZY:
        raise AttributeError(f"module zerofleet has no attribute {name}")
    if name == "train":
        return import_module("zerofleet.fleet.api").train
    return import_module(f"zerofleet.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
