"""What all networks share: bytes in, policy and outcomes out.

Shapes: B batch, N bytes of an observation, A actions, O outcomes.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from zerofleet.errors import Inconsistent
from zerofleet.weights.spec import NetworkSpec


class Output(NamedTuple):
    """What a network answers to a batch of observations."""

    policy_logits_BA: Tensor
    """Of all actions, legal or not; whoever reads them leaves out what is not legal."""
    outcome_logits_BO: Tensor
    """How the game ends for the observer."""
    auxiliary: dict[str, Tensor]
    """What else was predicted, by name; empty unless training or asked for."""


class Mean(NamedTuple):
    """A mean over the rows that have a target, in two parts, which can be added to others'."""

    total: Tensor
    """The sum of the values of these rows."""
    num_rows: Tensor
    """How many they are."""

    @property
    def value(self) -> Tensor:
        """0 where no row has a target."""
        return self.total / self.num_rows.clamp(min=1)


def mean_over(rows_B: Tensor, values_B: Tensor) -> Mean:
    """The mean of values over those rows that are 1, or true, and not 0."""
    return Mean((values_B * rows_B).sum(), rows_B.sum())


class AuxiliaryBatch(Protocol):
    """What a batch must have for the auxiliary losses; rows go with those of the output."""

    @property
    def reply_B(self) -> Tensor:
        """int64, the action that the other player answered with; -1 where there was none."""

    @property
    def final_observation_BN(self) -> Tensor:
        """uint8, what the same observer saw when the game was over."""


class NetworkOptions(BaseModel):
    """The options of one kind of network: frozen, and checked when they are built.

    One that is added to a kind has as its default what was before: specs that were written before
    lack it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Network(nn.Module):
    """A network for one game.

    Turning bytes into planes or tokens is its first layer. Nothing in it depends on the data but
    through arithmetic, so it can be captured in CUDA graphs and compiled.
    """

    Options: ClassVar[type[NetworkOptions]] = NetworkOptions
    """The options of this kind of network; this one has none."""
    trains_compiled: ClassVar[bool] = True
    """Whether its training may be compiled on a GPU."""
    exports_onnx: ClassVar[bool] = True
    """Whether it can be exported to ONNX. Where it cannot, torch evaluates it on a CPU too."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self.spec = spec

    @abstractmethod
    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        """Takes uint8 [B, N]. Auxiliary heads are computed in training, or as is said."""

    def wants_auxiliary(self, with_auxiliary: bool | None) -> bool:
        return self.training if with_auxiliary is None else with_auxiliary

    def auxiliary_losses(self, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
        """A loss for each of `output.auxiliary`, the mean over the rows that have a target."""
        return {}

    def take(self, tensors: Mapping[str, Tensor], named: str) -> None:
        """Loads weights. Inconsistent names a tensor that does not fit."""
        try:
            self.load_state_dict(tensors)
        except RuntimeError:
            own = self.state_dict()
            differs = min(
                name
                for name in own.keys() | tensors.keys()
                if name not in own or name not in tensors or own[name].shape != tensors[name].shape
            )
            raise Inconsistent(
                f"{named} do not fit {self.spec.network_text}: {differs} differs; another version "
                "of zerofleet wrote them"
            ) from None

    @property
    def num_parameters(self) -> int:
        return sum(parameter.numel() for parameter in self.parameters())


def auxiliary_losses(network: Network, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
    """The auxiliary losses of a network, by the name of the head; not weighted."""
    return network.auxiliary_losses(output, batch)
