"""Builds networks: by preset for a game, or from a spec; and registers custom ones."""

import re
from collections.abc import Callable
from typing import Any, TypeVar

import torch
from pydantic import ValidationError

from zerofleet.config import unknown_name
from zerofleet.errors import BadText, Inconsistent, Unsupported, first_fault
from zerofleet.games import Game
from zerofleet.nets.board import BoardNetwork
from zerofleet.nets.bytes import BytesNetwork
from zerofleet.nets.cards import CardsNetwork
from zerofleet.nets.network import Network, NetworkOptions, Output
from zerofleet.nets.places import PlacesNetwork
from zerofleet.nets.points import PointsNetwork
from zerofleet.nets.presets import OF_GAME, OWN_GAME, choices
from zerofleet.nets.zones import ZonesNetwork
from zerofleet.weights.spec import NetworkSpec, OptionValue

KINDS: dict[str, type[Network]] = {
    "board": BoardNetwork,
    "bytes": BytesNetwork,
    "cards": CardsNetwork,
    "places": PlacesNetwork,
    "points": PointsNetwork,
    "zones": ZonesNetwork,
}
CUSTOM: dict[str, type[Network]] = {}
"""What `register` was given, by name."""

HOW_TO_REGISTER = (
    "a custom network must be registered before it is used: --plugin FILE.py on the command line, "
    "zf.nets.register in Python"
)

AnyNetwork = TypeVar("AnyNetwork", bound=type[Network])


def register(name: str) -> Callable[[AnyNetwork], AnyNetwork]:
    """Registers a class of networks under a name, as a decorator.

        @zf.nets.register("mlp")
        class Mlp(zf.nets.Network): ...

    The name is a preset (`network.preset`) of every game, with the defaults of the class's
    `Options`, and the kind that a NetworkSpec keeps. A class that is registered under the same name
    later replaces it; the names of the networks that come with zerofleet are refused.
    """
    taken = {*KINDS, *OWN_GAME, *(preset for presets in OF_GAME.values() for preset in presets)}
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
    """The names of the presets of a game, the smallest first; then the registered networks."""
    return [*choices(game_name), *CUSTOM]


def class_of(kind: str) -> type[Network]:
    """The class of a kind of network, ours or registered."""
    known = KINDS | CUSTOM
    if kind not in known:
        raise Unsupported(
            f"{unknown_name('kind of network', kind, sorted(known))}; {HOW_TO_REGISTER}"
        )
    return known[kind]


def build(game: Game, preset: str = "small", **options: OptionValue) -> Network:
    """A network for a game with fresh weights, drawn with torch's generator.

    `options` are set over those of the preset. An unknown preset or option, or one out of bounds,
    is an error that names it and what would be right.
    """
    known = choices(game.name) | {name: (name, {}) for name in CUSTOM}
    if preset not in known:
        name = unknown_name(f"preset of a network for {game.name}", preset, list(known))
        raise Unsupported(f"{name}; {HOW_TO_REGISTER}")
    kind, chosen = known[preset]
    checked = checked_options(kind, {**chosen, **options})
    return from_spec(NetworkSpec.of(game, kind, checked.model_dump()))


def from_spec(spec: NetworkSpec) -> Network:
    """The network that a spec describes, with fresh weights.

    An option that it lacks was added after it was written, with a default that changes nothing.
    """
    options = checked_options(spec.kind, spec.options).model_dump()
    network = class_of(spec.kind)(spec.model_copy(update={"options": options}))
    if spec.kind in CUSTOM:
        check_output(network)
    return network


@torch.no_grad()
def check_output(network: Network) -> None:
    """Raises Inconsistent unless a custom network answers as it must, said before any training."""
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
    """All options of a kind of network, those not given at their defaults."""
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
