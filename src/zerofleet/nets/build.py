"""Builds networks: by preset for a game, or from a spec; registers custom ones."""

import re
from collections.abc import Callable
from typing import Any, Final, TypeVar

import torch
from pydantic import ValidationError

from zerofleet.config import unknown_name
from zerofleet.errors import BadText, Inconsistent, Unsupported, first_fault
from zerofleet.games import Game
from zerofleet.nets.beastybar import CardsNetwork, PlacesNetwork, ZonesNetwork
from zerofleet.nets.beastybar_pooled import PooledNetwork
from zerofleet.nets.board import BoardNetwork
from zerofleet.nets.mlp import BytesNetwork, PointsNetwork
from zerofleet.nets.network import Network, NetworkOptions, Output
from zerofleet.weights.spec import NetworkSpec, OptionValue

KINDS: dict[str, type[Network]] = {
    "board": BoardNetwork,
    "bytes": BytesNetwork,
    "cards": CardsNetwork,
    "places": PlacesNetwork,
    "points": PointsNetwork,
    "pooled": PooledNetwork,
    "zones": ZonesNetwork,
}
CUSTOM: dict[str, type[Network]] = {}
"""Registered classes, by name."""

HOW_TO_REGISTER = (
    "a custom network must be registered before it is used: --plugin FILE.py on the command line, "
    "zf.nets.register in Python"
)

AnyNetwork = TypeVar("AnyNetwork", bound=type[Network])

Choice = tuple[str, dict[str, OptionValue]]
"""A kind of network and the options that differ from its defaults."""

# Parameters are counted for 15x15 Gomoku, Beasty Bar and backgammon.
BOARD: Final[dict[str, Choice]] = {
    # 0.09 M: two CPU cores train it for Connect Four.
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


def pooled(
    hidden_dim: int, num_heads: int, queue: int, sets: int, hand: int, fusion: int, outcome: int
) -> Choice:
    _, layers = zones(hidden_dim, num_heads, queue, sets, hand, fusion)
    return "pooled", {
        **layers,
        "outcome_layers": outcome,
        "species_embedding_dim": hidden_dim // 4,
        "dropout": 0.1,
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
    "pooled-tiny": pooled(48, 2, 1, 1, 1, 1, 1),  # 0.2 M
    "pooled-large": pooled(256, 8, 6, 2, 2, 4, 3),  # 13 M, the layers of a published network
}

BACKGAMMON: Final[dict[str, Choice]] = {
    "tiny": points(128, 2),
    "small": points(256, 2),
    "medium": points(384, 4),
    "large": points(512, 4),
}

CUSTOM_GAME: Final[dict[str, Choice]] = {
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
    """The presets of a game; a custom game has the `bytes` networks, which assume nothing."""
    return OF_GAME.get(game_name, CUSTOM_GAME)


def register(name: str) -> Callable[[AnyNetwork], AnyNetwork]:
    """Registers a class of networks under a name, as a decorator.

        @zf.nets.register("mlp")
        class Mlp(zf.nets.Network): ...

    The name becomes a preset (`network.preset`) of every game, with the defaults of the class's
    `Options`, and the `kind` in a NetworkSpec. A later class of the same name replaces an earlier
    one; names of built-in networks are refused.
    """
    taken = {*KINDS, *CUSTOM_GAME, *(preset for presets in OF_GAME.values() for preset in presets)}
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise BadText(
            f"a network cannot be registered as {name!r}: a letter, then letters, digits, - and _"
        )
    if name in taken:
        raise BadText(f"a network of zerofleet is called {name}; register yours by another name")

    def put(network_class: AnyNetwork) -> AnyNetwork:
        if not (isinstance(network_class, type) and issubclass(network_class, Network)):
            raise BadText(
                f"network {name}: what is registered is a class derived from zf.nets.Network, got "
                f"{network_class!r}"
            )
        CUSTOM[name] = network_class
        return network_class

    return put


def presets(game_name: str) -> list[str]:
    """The presets of a game, the smallest first, then the registered networks."""
    return [*choices(game_name), *CUSTOM]


def class_of(kind: str) -> type[Network]:
    """The class of a kind of network, built in or registered."""
    known = KINDS | CUSTOM
    if kind not in known:
        raise Unsupported(
            f"{unknown_name('kind of network', kind, sorted(known))}; {HOW_TO_REGISTER}"
        )
    return known[kind]


def build(game: Game, preset: str = "small", **options: OptionValue) -> Network:
    """A network for a game with fresh weights from torch's generator.

    `options` override those of the preset. An unknown or out-of-bounds one is an error that says
    what would be right.
    """
    known = choices(game.name) | {name: (name, {}) for name in CUSTOM}
    if preset not in known:
        name = unknown_name(f"preset of a network for {game.name}", preset, list(known))
        raise Unsupported(f"{name}; {HOW_TO_REGISTER}")
    kind, chosen = known[preset]
    checked = checked_options(kind, {**chosen, **options})
    return from_spec(NetworkSpec.of(game, kind, checked.model_dump()))


def from_spec(spec: NetworkSpec) -> Network:
    """The network of a spec, with fresh weights.

    An option that the spec lacks was added later; its default changes nothing.
    """
    options = checked_options(spec.kind, spec.options).model_dump()
    network = class_of(spec.kind)(spec.model_copy(update={"options": options}))
    if spec.kind in CUSTOM:
        check_output(network)
    return network


@torch.no_grad()
def check_output(network: Network) -> None:
    """Raises Inconsistent unless the output of a custom network has the right type and shapes."""
    spec, was_training = network.spec, network.training
    output: object = network.eval()(
        torch.zeros(2, spec.observation_bytes, dtype=torch.uint8), with_auxiliary=False
    )
    network.train(was_training)
    if not isinstance(output, Output):
        raise Inconsistent(
            f"network {spec.kind}: forward must return a zf.nets.Output, got {type(output)}"
        )
    wanted = {"policy_logits_BA": spec.num_actions, "outcome_logits_BO": spec.num_outcomes}
    for name, size in wanted.items():
        shape = list(getattr(output, name).shape)
        if shape != [2, size]:
            raise Inconsistent(
                f"network {spec.kind}: {name} of 2 observations of {spec.game_text} must be "
                f"[2, {size}], got {shape}"
            )


def checked_options(kind: str, options: dict[str, Any]) -> NetworkOptions:
    """All options of a kind of network, checked; defaults where none is given."""
    of_kind = class_of(kind).Options
    for option in options:
        if option not in of_kind.model_fields:
            raise Unsupported(
                unknown_name(f"option of a {kind} network", option, list(of_kind.model_fields))
            )
    try:
        return of_kind(**options)
    except ValidationError as error:
        raise BadText(f"a {kind} network: {first_fault(error)}") from None
