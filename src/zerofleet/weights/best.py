"""The shipped weights: the best trained ones of each game or variant.

    weights/gomoku-9/
      weights.safetensors   the network
      weights.json          its manifest: hash, network and game
      graph.onnx            the network without its weights, for inference without torch
      graph.json            its manifest
      config.yaml           the settings of the run that trained it
      about.json            training time, hardware, and measured strength

A checkout has them in weights/, an installed package in zerofleet/best/. scripts/keep-weights
writes them.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zerofleet.config import game_text
from zerofleet.errors import BadBytes, Unsupported
from zerofleet.storage import packaged_folder

TENSORS, MANIFEST = "weights.safetensors", "weights.json"


@dataclass(frozen=True)
class BestWeights:
    """Shipped weights and their game."""

    path: Path
    """Of the safetensors file."""
    game: str
    options: Mapping[str, str]

    def __str__(self) -> str:
        """The game with its options: gomoku size=9 line=5 rule=freestyle."""
        return game_text(self.game, self.options)


def best_folder() -> Path:
    """The folder of all shipped weights, in the package or in a checkout."""
    return packaged_folder("best", "weights", "weights")


def all_best() -> list[BestWeights]:
    """All shipped weights, sorted by folder."""
    return [read_manifest(path) for path in sorted(best_folder().glob(f"*/{MANIFEST}"))]


def find_best(game: str, options: Mapping[str, str]) -> BestWeights | None:
    """The shipped weights of a game with these options, if any."""
    for best in all_best():
        if (best.game, best.options) == (game, options):
            return best
    return None


def best_of(game: str, options: Mapping[str, str]) -> BestWeights:
    """The same, or Unsupported with the games that have some."""
    best = find_best(game, options)
    if best is None:
        known = "; ".join(map(str, all_best())) or "none"
        raise Unsupported(
            f"no weights come with zerofleet for {game_text(game, options)}; there are some for: "
            f"{known}"
        )
    return best


def read_manifest(path: Path) -> BestWeights:
    try:
        spec = json.loads(path.read_text())["spec"]
        return BestWeights(path.with_name(TENSORS), spec["game"], dict(spec["game_options"]))
    except (ValueError, KeyError, TypeError) as error:
        raise BadBytes(f"{path} is damaged: {error!r}; install zerofleet again") from None
