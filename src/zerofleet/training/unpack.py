"""Unpacks the rows of the replay buffer into tensors for the losses, on any device.

Shapes: B rows, N bytes of an observation, A actions, O outcomes, S symmetries, R bytes of a row,
L bytes of legal actions, X any.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from zerofleet._core import OUTCOME_UNIT
from zerofleet.nets import NetworkSpec
from zerofleet.replay import Batch, RowFormat


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
        mixed_BO = ended_BO + self.format.q_ratio * (units_BO / OUTCOME_UNIT - ended_BO)
        return torch.where(was_searched_B1, mixed_BO, ended_BO)


def fields_of(row: np.dtype[np.void]) -> dict[str, tuple[slice, torch.dtype]]:
    """By name: the bytes of a field within a row, and the type of its numbers."""
    assert row.fields is not None
    return {
        name: (slice(start, start + dtype.itemsize), torch_dtype(dtype.base))
        for name, (dtype, start, *_) in row.fields.items()
    }


def torch_dtype(dtype: np.dtype[Any]) -> torch.dtype:
    return torch.from_numpy(np.empty(0, dtype)).dtype
