"""What a network is, apart from its weights: kind, options, and its game.

A spec is stored beside the weights as JSON. The network can be built from it, and weights of
another game, board size or network are refused.
"""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from zerofleet.errors import BadText, Inconsistent, Unsupported, first_fault
from zerofleet.games import Game

OptionValue = bool | int | float

FORMAT = 1
"""Grows when weights of the same spec change their meaning."""


class NetworkSpec(BaseModel):
    """Frozen. `NetworkSpec.from_dict(spec.to_dict())` equals `spec`."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    format: int = FORMAT
    kind: str
    """The architecture: board, zones, cards, places, points, bytes, or a registered one."""
    options: dict[str, OptionValue]
    """All options of the kind, as of when the spec was written."""
    game: str
    game_options: dict[str, str]
    num_actions: int
    num_outcomes: int
    observation_bytes: int

    @classmethod
    def of(cls, game: Game, kind: str, options: dict[str, OptionValue]) -> Self:
        return cls(
            kind=kind,
            options=options,
            game=game.name,
            game_options=game.options,
            num_actions=game.num_actions,
            num_outcomes=len(game.outcomes),
            observation_bytes=game.observation_bytes,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return self.model_dump()

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        try:
            spec = cls.model_validate(values)
        except ValidationError as error:
            raise BadText(f"not the spec of a network: {first_fault(error)}") from None
        if spec.format != FORMAT:
            raise Unsupported(
                f"the spec of a network has format {spec.format}; this build reads {FORMAT}"
            )
        return spec

    @property
    def game_text(self) -> str:
        """The game with its options: gomoku (size=15 line=5 rule=freestyle)."""
        return with_options(self.game, self.game_options)

    @property
    def network_text(self) -> str:
        """The network with its options: board (channels=32 num_blocks=4 ...)."""
        return with_options(self.kind, self.options)


def refuse_mismatch(spec: NetworkSpec, wanted: Game | NetworkSpec) -> None:
    """Raises Inconsistent, naming both sides, unless weights of this spec fit what is wanted.

    Weights fit a game if they are of the same game and options; they fit a spec if the network is
    the same too.
    """
    if isinstance(wanted, Game):
        wanted = NetworkSpec.of(wanted, spec.kind, spec.options)
    if (spec.game, spec.game_options) != (wanted.game, wanted.game_options):
        raise Inconsistent(f"weights of {spec.game_text} are not for {wanted.game_text}")
    for count in ("num_actions", "num_outcomes", "observation_bytes"):
        has, wants = getattr(spec, count), getattr(wanted, count)
        if has != wants:
            raise Inconsistent(
                f"weights of {spec.game_text} with {count} {has} are not for one with {wants}"
            )
    if spec != wanted:
        raise Inconsistent(
            f"weights of the network {spec.network_text} are not for {wanted.network_text}"
        )


def with_options(name: str, options: dict[str, Any]) -> str:
    listed = " ".join(f"{option}={value}" for option, value in options.items())
    return f"{name} ({listed})" if listed else name
