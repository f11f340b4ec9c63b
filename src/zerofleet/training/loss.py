"""From a batch of packed rows to its losses, on any device.

The rows of the replay buffer are unpacked into tensors (`Unpacker`). The losses are the
cross-entropy of policy and outcome, those of the auxiliary heads, and custom terms.

Shapes: B rows, N bytes of an observation, A actions, O outcomes, S symmetries, R bytes of a row,
L bytes of legal actions, X any.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zerofleet._core import OUTCOME_UNIT
from zerofleet.config import TrainConfig, unknown_name
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.nets import Mean, Network, NetworkSpec, Output, mean_over
from zerofleet.replay import Batch, RowFormat

# ---- rows as tensors


class PackedBatch(NamedTuple):
    """A batch of the replay as it is copied to the device."""

    rows_BR: Tensor
    """uint8, the bytes of the rows."""
    final_observation_BN: Tensor
    symmetry_B: Tensor

    @classmethod
    def of(cls, batch: Batch) -> "PackedBatch":
        """Shares the memory of the batch."""
        return cls(
            torch.from_numpy(batch.rows_B.view(np.uint8).reshape(len(batch), -1)),
            torch.from_numpy(batch.final_observation_BN),
            torch.from_numpy(batch.symmetry_B),
        )


@dataclass(frozen=True)
class TensorBatch:
    """Samples on the training device. Everything about one is in the view of its observer."""

    observations_BN: Tensor
    """uint8"""
    legal_BA: Tensor
    """1 or 0; zeros where there is no policy."""
    policy_BA: Tensor
    """Sums to 1; zeros where there is no policy."""
    has_policy_B: Tensor
    """1, or 0 for a sample that trains the value only."""
    outcome_target_BO: Tensor
    """The value target: the outcome of the game mixed with the search value. Sums to 1."""
    reply_B: Tensor
    """int64, the other player's next action, or -1."""
    final_observation_BN: Tensor
    """uint8, what the observer saw when the game was over."""

    @classmethod
    def empty(cls, spec: NetworkSpec, num_rows: int, device: torch.device) -> "TensorBatch":
        """Uninitialised tensors for `num_rows` rows of a network's game."""

        def rows(*shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
            return torch.empty(num_rows, *shape, dtype=dtype, device=device)

        return cls(
            observations_BN=rows(spec.observation_bytes, dtype=torch.uint8),
            legal_BA=rows(spec.num_actions),
            policy_BA=rows(spec.num_actions),
            has_policy_B=rows(),
            outcome_target_BO=rows(spec.num_outcomes),
            reply_B=rows(dtype=torch.int64),
            final_observation_BN=rows(spec.observation_bytes, dtype=torch.uint8),
        )

    def fields(self) -> list[Tensor]:
        """All tensors, in a fixed order."""
        return [getattr(self, name) for name in self.__dataclass_fields__]


class Unpacker:
    """Reads rows of one format on one device, without waiting for it."""

    def __init__(self, row_format: RowFormat, device: torch.device) -> None:
        self.format = row_format
        self._fields = fields_of(row_format.dtype)
        self._new_action_SA = torch.from_numpy(row_format.new_action_SA).to(device)
        self._old_action_SA = torch.from_numpy(row_format.old_action_SA).to(device)
        self._old_byte_SN = torch.from_numpy(row_format.old_byte_SN).to(device)
        self._one_hot_OO = torch.eye(row_format.num_outcomes, device=device)
        # The first of eight actions is the highest bit.
        self._bits_8 = torch.arange(7, -1, -1, dtype=torch.uint8, device=device)

    def __call__(self, packed: PackedBatch) -> TensorBatch:
        old_action_BA = self._old_action_SA[packed.symmetry_B]
        old_byte_BN = self._old_byte_SN[packed.symmetry_B]
        policy_BA = self._field(packed, "policy").int().gather(1, old_action_BA).float()
        return TensorBatch(
            observations_BN=self._field(packed, "observation").gather(1, old_byte_BN),
            legal_BA=self._legal(packed).gather(1, old_action_BA).float(),
            policy_BA=policy_BA / policy_BA.sum(dim=1, keepdim=True).clamp(min=1),
            has_policy_B=self._field(packed, "has_policy")[:, 0].float(),
            outcome_target_BO=self._value_targets(packed),
            reply_B=self._replies(packed),
            final_observation_BN=packed.final_observation_BN.gather(1, old_byte_BN),
        )

    def _field(self, packed: PackedBatch, name: str) -> Tensor:
        """[B, X]"""
        where, dtype = self._fields[name]
        return packed.rows_BR[:, where].contiguous().view(dtype)

    def _legal(self, packed: PackedBatch) -> Tensor:
        bits_BL8 = (self._field(packed, "legal_bits")[:, :, None] >> self._bits_8) & 1
        return bits_BL8.flatten(1)[:, : self.format.num_actions]

    def _replies(self, packed: PackedBatch) -> Tensor:
        reply_B = self._field(packed, "reply")[:, 0]
        new_B = self._new_action_SA[packed.symmetry_B, reply_B.clamp(min=0)]
        return torch.where(reply_B < 0, -1, new_B)

    def _value_targets(self, packed: PackedBatch) -> Tensor:
        ended_BO = self._one_hot_OO[self._field(packed, "outcome")[:, 0].long()]
        units_BO = self._field(packed, "search_outcomes").int()
        was_searched_B1 = (units_BO > 0).any(dim=1, keepdim=True)
        searched_BO = units_BO / OUTCOME_UNIT
        mixed_BO = ended_BO + self.format.q_ratio * (searched_BO - ended_BO)
        target_BO = torch.where(was_searched_B1, mixed_BO, ended_BO)
        return torch.where(self._field(packed, "is_solved"), searched_BO, target_BO)


def fields_of(row: np.dtype[np.void]) -> dict[str, tuple[slice, torch.dtype]]:
    """By name: the bytes of a field within a row, and the type of its numbers."""
    assert row.fields is not None
    return {
        name: (slice(start, start + dtype.itemsize), torch_dtype(dtype.base))
        for name, (dtype, start, *_) in row.fields.items()
    }


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype


# ---- losses

ILLEGAL_LOGIT = -1e9

LossTerm = Callable[[Output, TensorBatch], Tensor | Mean]
"""A custom loss: a scalar from the network's output and its batch.

The scalar is the mean over the rows of the batch; a term that concerns some rows only gives
`zf.nets.mean_over(rows_B, values_B)` instead.
"""

_registered: dict[str, LossTerm] = {}


def register_loss_term(name: str) -> Callable[[LossTerm], LossTerm]:
    """Registers a custom loss under a name, as a decorator.

        @zf.training.register_loss_term("entropy_bonus")
        def entropy_bonus(output, batch): ...

    A run adds it to the loss where `train.loss_terms` has its name, with that weight. The metric
    loss/<name> is its value before the weight. On a CUDA GPU it is compiled and captured with the
    step, so it must be tensor arithmetic: side effects happen once.
    """
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name) or name in ("policy", "outcome"):
        raise BadText(
            f"a loss term cannot be called {name!r}: a letter, then letters, digits, - and _; "
            "policy and outcome are taken"
        )

    def put(term: LossTerm) -> LossTerm:
        _registered[name] = term
        return term

    return put


def find_loss_terms(names: Iterable[str]) -> dict[str, LossTerm]:
    """The registered terms of these names. Unsupported where one is not registered."""
    for name in names:
        if name not in _registered:
            raise Unsupported(
                f"{unknown_name('loss term', name, sorted(_registered))}; one must be registered "
                "before it is used: --plugin FILE.py on the command line, loss_terms of zf.train"
            )
    return {name: _registered[name] for name in names}


def compute_losses(
    network: Network,
    output: Output,
    batch: TensorBatch,
    terms: Mapping[str, LossTerm] | None = None,
) -> dict[str, Mean]:
    """The losses by name, then further metrics.

    loss/policy, loss/outcome, loss/<auxiliary head> and loss/<custom term>. Then target_entropy and
    policy_kl (Kullback-Leibler divergence from the policy's target), whose sum is loss/policy: it
    rises with the first where targets change, with the second where they are missed. Then
    policy_entropy, policy_accuracy (share of rows whose most likely action is the target's) and
    value_error (Brier score of the outcome distribution against its target).
    """
    logits_BA = output.policy_logits_BA.float()
    # Only legal actions share the probability; rows without a policy keep all and weigh nothing.
    masked_BA = logits_BA + (1 - batch.legal_BA) * batch.has_policy_B[:, None] * ILLEGAL_LOGIT
    log_policy_BA = torch.log_softmax(masked_BA, dim=1)
    cross_entropy_B = -(batch.policy_BA * log_policy_BA).sum(dim=1)
    target_entropy_B = torch.special.entr(batch.policy_BA).sum(dim=1)
    detached_BA = log_policy_BA.detach()
    entropy_B = -(detached_BA.exp() * detached_BA).sum(dim=1)
    same_B = (masked_BA.argmax(dim=1) == batch.policy_BA.argmax(dim=1)).float()

    log_outcomes_BO = torch.log_softmax(output.outcome_logits_BO.float(), dim=1)
    outcome_cross_entropy_B = -(batch.outcome_target_BO * log_outcomes_BO).sum(dim=1)
    gap_BO = log_outcomes_BO.detach().exp() - batch.outcome_target_BO
    all_B = torch.ones_like(outcome_cross_entropy_B)

    auxiliary = network.auxiliary_losses(output, batch)
    custom = {
        name: mean_of(name, term(output, batch), all_B) for name, term in (terms or {}).items()
    }
    for name in custom:
        if name in auxiliary:
            raise Inconsistent(f"loss term {name}: the network has an auxiliary head of that name")
    return {
        "loss/policy": mean_over(batch.has_policy_B, cross_entropy_B),
        "loss/outcome": mean_over(all_B, outcome_cross_entropy_B),
        **{f"loss/{name}": mean for name, mean in auxiliary.items()},
        **{f"loss/{name}": mean for name, mean in custom.items()},
        "target_entropy": mean_over(batch.has_policy_B, target_entropy_B),
        "policy_kl": mean_over(batch.has_policy_B, cross_entropy_B.detach() - target_entropy_B),
        "policy_entropy": mean_over(batch.has_policy_B, entropy_B),
        "policy_accuracy": mean_over(batch.has_policy_B, same_B),
        "value_error": mean_over(all_B, (gap_BO**2).sum(dim=1)),
    }


def mean_of(name: str, given: Tensor | Mean, all_B: Tensor) -> Mean:
    """The value of a custom term as a mean that all-reduce can sum over processes."""
    if isinstance(given, Mean):
        return given
    if not isinstance(given, Tensor) or given.ndim != 0:
        got = f"shape {list(given.shape)}" if isinstance(given, Tensor) else str(type(given))
        raise BadText(
            f"loss term {name} must return a scalar tensor or zf.nets.mean_over(…), got {got}"
        )
    num_rows = all_B.sum()
    return Mean(given.float() * num_rows, num_rows)


def total_loss(parts: Mapping[str, Tensor], settings: TrainConfig) -> Tensor:
    """The weighted sum of the losses, by the names of `compute_losses`."""
    weights = {"loss/policy": 1.0, "loss/outcome": settings.value_loss_weight}
    weights |= {f"loss/{name}": weight for name, weight in settings.loss_terms.items()}
    losses = [
        weights.get(name, settings.auxiliary_loss_weight) * part
        for name, part in parts.items()
        if name.startswith("loss/")
    ]
    return torch.stack(losses).sum()
