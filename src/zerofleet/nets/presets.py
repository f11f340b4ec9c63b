"""Which networks there are for a game, by name and size.

Sizes are chosen by parameters; counts are for 15x15 Gomoku, Beasty Bar and backgammon.
"""

from typing import Final

from zerofleet.weights.spec import OptionValue

Choice = tuple[str, dict[str, OptionValue]]
"""A kind of network and those of its options that differ from the defaults."""

BOARD: Final[dict[str, Choice]] = {
    # 0.09 M: two CPU cores are enough to teach it Connect Four.
    "tiny": ("board", {"channels": 32, "num_blocks": 4}),
    # 1.2 M
    "small": ("board", {"channels": 96, "num_blocks": 7, "pool_every": 3}),
    # 3 M
    "medium": ("board", {"channels": 128, "num_blocks": 10, "pool_every": 3}),
    # 5 M
    "large": ("board", {"channels": 128, "num_blocks": 16, "pool_every": 3, "head_channels": 64}),
}


def zones(hidden_dim: int, num_heads: int, queue: int, sets: int, hand: int, fusion: int) -> Choice:
    return "zones", {
        "hidden_dim": hidden_dim,
        "num_heads": num_heads,
        "queue_layers": queue,
        "bar_layers": sets,
        "hand_layers": hand,
        "fusion_layers": fusion,
    }


def cards(
    width: int, num_heads: int, num_layers: int, state_blocks: int, dropout: float = 0.0
) -> Choice:
    return "cards", {
        "width": width,
        "num_heads": num_heads,
        "num_layers": num_layers,
        "state_width": 2 * width,
        "state_blocks": state_blocks,
        "dropout": dropout,
    }


def places(width: int, num_blocks: int) -> Choice:
    return "places", {"width": width, "num_blocks": num_blocks}


def points(width: int, num_blocks: int) -> Choice:
    return "points", {"width": width, "num_blocks": num_blocks}


def plain(width: int, num_blocks: int) -> Choice:
    return "bytes", {"width": width, "num_blocks": num_blocks}


BEASTYBAR: Final[dict[str, Choice]] = {
    "tiny": zones(48, 2, 1, 1, 1, 1),  # 0.1 M
    "small": zones(128, 4, 2, 1, 1, 2),  # 1 M
    "medium": zones(192, 6, 4, 2, 2, 3),  # 4 M
    "large": zones(256, 8, 6, 2, 2, 4),  # 10 M
    "cards-tiny": cards(48, 2, 2, 1),  # 0.15 M
    "cards-small": cards(128, 2, 6, 2),  # 1.7 M
    "cards-medium": cards(256, 4, 6, 3, dropout=0.2),  # 7 M
    "cards-large": cards(384, 6, 8, 4, dropout=0.2),  # 20 M
    "places-tiny": places(128, 2),  # 0.15 M
    "places-small": places(256, 3),  # 0.6 M
    "places-medium": places(512, 6),  # 4 M
    "places-large": places(1024, 5),  # 13 M
}

BACKGAMMON: Final[dict[str, Choice]] = {
    "tiny": points(128, 2),
    "small": points(256, 2),
    "medium": points(384, 4),
    "large": points(512, 4),
}

OWN_GAME: Final[dict[str, Choice]] = {
    "tiny": plain(64, 2),
    "small": plain(128, 3),
    "medium": plain(256, 4),
    "large": plain(512, 6),
}

OF_GAME: Final[dict[str, dict[str, Choice]]] = {
    "backgammon": BACKGAMMON,
    "beastybar": BEASTYBAR,
    "connect4": BOARD,
    "gomoku": BOARD,
}


def choices(game_name: str) -> dict[str, Choice]:
    """The presets of a game; a custom game has those that know nothing about it."""
    return OF_GAME.get(game_name, OWN_GAME)
