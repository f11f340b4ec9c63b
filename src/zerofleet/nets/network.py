"""The contract of a network: uint8 observations in, policy and outcome logits out.

Shapes: B batch, N bytes of an observation, A actions, O outcomes.
"""

from abc import abstractmethod
from collections.abc import Mapping
from typing import ClassVar, NamedTuple, Protocol

from pydantic import BaseModel, ConfigDict
from torch import Tensor, nn

from zerofleet.errors import Inconsistent
from zerofleet.weights.spec import NetworkSpec

FINAL_STD = 0.01
"""Of the initial weights of a head. An untrained network is then close to uniform, yet gradients
reach every layer from the first step."""


class Output(NamedTuple):
    """The forward pass of a batch of observations."""

    policy_logits_BA: Tensor
    """Over all actions, legal or not; the reader masks illegal ones."""
    outcome_logits_BO: Tensor
    """How the game ends, in the view of the observer."""
    auxiliary: dict[str, Tensor]
    """Auxiliary predictions by head; empty in inference."""


class Mean(NamedTuple):
    """A mean over the rows that have a target, as sum and count: both can be all-reduced."""

    total: Tensor
    num_rows: Tensor

    @property
    def value(self) -> Tensor:
        """0 where no row has a target."""
        return self.total / self.num_rows.clamp(min=1)


def mean_over(rows_B: Tensor, values_B: Tensor) -> Mean:
    """The mean of `values_B` over the rows where `rows_B` is 1 or true."""
    return Mean((values_B * rows_B).sum(), rows_B.sum())


class AuxiliaryBatch(Protocol):
    """The auxiliary targets of a batch, row by row with the output."""

    @property
    def reply_B(self) -> Tensor:
        """int64, the opponent's next action; -1 where there was none."""

    @property
    def final_observation_BN(self) -> Tensor:
        """uint8, what the same observer sees at the end of the game."""


class NetworkOptions(BaseModel):
    """The options of one kind of network, frozen and validated.

    The default of a new option keeps the old behaviour: older specs lack it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Network(nn.Module):
    """A network for one game.

    Its first layer turns bytes into planes or tokens. Control flow never depends on data, so that
    the network can be compiled and captured in CUDA graphs.
    """

    Options: ClassVar[type[NetworkOptions]] = NetworkOptions
    """The options of this kind of network; none here."""
    trains_compiled: ClassVar[bool] = True
    """Whether torch.compile may compile its training step on a GPU."""
    exports_onnx: ClassVar[bool] = True
    """Whether it can be exported to ONNX. If not, torch evaluates it on a CPU too."""

    def __init__(self, spec: NetworkSpec) -> None:
        super().__init__()
        self.spec = spec

    @abstractmethod
    def forward(self, observations_BN: Tensor, with_auxiliary: bool | None = None) -> Output:
        """Takes uint8 [B, N]. None computes auxiliary heads in training mode only."""

    def wants_auxiliary(self, with_auxiliary: bool | None) -> bool:
        return self.training if with_auxiliary is None else with_auxiliary

    def auxiliary_losses(self, output: Output, batch: AuxiliaryBatch) -> dict[str, Mean]:
        """A loss per head of `output.auxiliary`, over the rows that have a target."""
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


class InferenceNetwork(nn.Module):
    """A network as evaluators run it: no auxiliary heads, float32, outcomes as probabilities."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        """Policy logits [B, A] and outcome probabilities [B, O] of uint8 [B, N]."""
        output: Output = self.network(observations_BN, with_auxiliary=False)
        return output.policy_logits_BA.float(), output.outcome_logits_BO.float().softmax(dim=1)


def final_layer(layer: nn.Linear | nn.Conv2d) -> nn.Module:
    """The same layer with small initial weights, for heads."""
    nn.init.normal_(layer.weight, std=FINAL_STD)
    if layer.bias is not None:
        nn.init.zeros_(layer.bias)
    return layer
