"""Builds networks: by preset for a game, or from a spec."""

from typing import Any

from pydantic import ValidationError

from zerofleet.config import unknown_name
from zerofleet.errors import BadText, Unsupported
from zerofleet.games import Game
from zerofleet.nets.board import BoardNetwork
from zerofleet.nets.bytes import BytesNetwork
from zerofleet.nets.cards import CardsNetwork
from zerofleet.nets.network import Network, NetworkOptions
from zerofleet.nets.places import PlacesNetwork
from zerofleet.nets.points import PointsNetwork
from zerofleet.nets.presets import choices, presets
from zerofleet.nets.zones import ZonesNetwork
from zerofleet.network_spec import NetworkSpec, OptionValue, first_fault

KINDS: dict[str, type[Network]] = {
    "board": BoardNetwork,
    "bytes": BytesNetwork,
    "cards": CardsNetwork,
    "places": PlacesNetwork,
    "points": PointsNetwork,
    "zones": ZonesNetwork,
}


def build(game: Game, preset: str = "small", **options: OptionValue) -> Network:
    """A network for a game with fresh weights, drawn with torch's generator.

    `options` are set over those of the preset. An unknown preset or option, or one out of bounds,
    is an error that names it and what would be right.
    """
    known = choices(game.name)
    if preset not in known:
        name = unknown_name(f"preset of a network for {game.name}", preset, presets(game.name))
        raise Unsupported(name)
    kind, chosen = known[preset]
    checked = checked_options(kind, {**chosen, **options})
    return from_spec(NetworkSpec.of(game, kind, checked.model_dump()))


def from_spec(spec: NetworkSpec) -> Network:
    """The network that a spec describes, with fresh weights.

    An option that it lacks was added after it was written, with a default that changes nothing.
    """
    if spec.kind not in KINDS:
        raise Unsupported(unknown_name("kind of network", spec.kind, sorted(KINDS)))
    options = checked_options(spec.kind, spec.options).model_dump()
    return KINDS[spec.kind](spec.model_copy(update={"options": options}))


def checked_options(kind: str, options: dict[str, Any]) -> NetworkOptions:
    """All options of a kind of network, those not given at their defaults."""
    of_kind = KINDS[kind].Options
    for option in options:
        if option not in of_kind.model_fields:
            raise Unsupported(
                unknown_name(f"option of a {kind} network", option, list(of_kind.model_fields))
            )
    try:
        return of_kind(**options)
    except ValidationError as error:
        raise BadText(f"a {kind} network: {first_fault(error)}") from None
