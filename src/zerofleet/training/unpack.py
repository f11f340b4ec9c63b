"""Turns the compact rows of the replay into what losses are computed from, on any device.

Shapes: B rows, N bytes of an observation, A actions, O outcomes, S symmetries, R bytes of a row,
L bytes of legal actions, X any.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from zerofleet.nets import NetworkSpec
from zerofleet.replay import OUTCOME_UNIT, Batch, RowFormat


class PackedBatch(NamedTuple):
    """A batch of the replay as it travels."""

    rows_BR: Tensor
    """uint8, the rows of the buffer byte by byte."""
    final_observation_BN: Tensor
    symmetry_B: Tensor

    @classmethod
    def of(cls, batch: Batch) -> "PackedBatch":
        """The same memory."""
        return cls(
            torch.from_numpy(batch.rows_B.view(np.uint8).reshape(len(batch), -1)),
            torch.from_numpy(batch.final_observation_BN),
            torch.from_numpy(batch.symmetry_B),
        )


@dataclass(frozen=True)
class TensorBatch:
    """Samples on the device that trains. All about a sample is in the view of its observer."""

    observations_BN: Tensor
    """uint8"""
    legal_BA: Tensor
    """1 or 0; zeros where there is no policy."""
    policy_BA: Tensor
    """Adds up to 1; zeros where there is no policy."""
    has_policy_B: Tensor
    """1, or 0 for a sample that trains the value only."""
    outcome_target_BO: Tensor
    """How the game ended, mixed with what the search found. Adds up to 1."""
    reply_B: Tensor
    """int64, the other player's next action, or -1."""
    final_observation_BN: Tensor
    """uint8, what the observer saw when the game was over."""

    @classmethod
    def empty(cls, spec: NetworkSpec, num_rows: int, device: torch.device) -> "TensorBatch":
        """Room for so many rows of a network's game."""

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
        """All of them, in one order."""
        return [getattr(self, name) for name in self.__dataclass_fields__]


class Unpacker:
    """Reads rows of one format on one device; nothing in it waits for the device."""

    def __init__(self, row_format: RowFormat, device: torch.device) -> None:
        self.format = row_format
        self._new_action_SA = torch.from_numpy(row_format.new_action_SA).to(device)
        self._old_action_SA = torch.from_numpy(row_format.old_action_SA).to(device)
        self._old_byte_SN = torch.from_numpy(row_format.old_byte_SN).to(device)
        # Zeros in the last row, for samples whose trace is cut before the end.
        self._one_hot_XO = torch.eye(row_format.num_outcomes + 1, device=device)[:, :-1]
        # The first action of eight is the highest bit.
        self._bits_8 = torch.arange(7, -1, -1, dtype=torch.uint8, device=device)

    def __call__(self, packed: PackedBatch) -> TensorBatch:
        old_action_BA = self._old_action_SA[packed.symmetry_B]
        old_byte_BN = self._old_byte_SN[packed.symmetry_B]
        policy_BA = self._numbers(packed, "policy").gather(1, old_action_BA).float()
        return TensorBatch(
            observations_BN=self._bytes(packed, "observation").gather(1, old_byte_BN),
            legal_BA=self._legal(packed).gather(1, old_action_BA).float(),
            policy_BA=policy_BA / policy_BA.sum(dim=1, keepdim=True).clamp(min=1),
            has_policy_B=self._bytes(packed, "has_policy")[:, 0].float(),
            outcome_target_BO=self._outcome_targets(packed),
            reply_B=self._replies(packed),
            final_observation_BN=packed.final_observation_BN.gather(1, old_byte_BN),
        )

    def _bytes(self, packed: PackedBatch, name: str) -> Tensor:
        dtype, start = self.format.dtype.fields[name][:2]  # type: ignore[index]
        return packed.rows_BR[:, start : start + dtype.itemsize]

    def _numbers(self, packed: PackedBatch, name: str) -> Tensor:
        """int32 [B, X] of a field of two-byte numbers."""
        bytes_BX2 = self._bytes(packed, name).reshape(len(packed.rows_BR), -1, 2).int()
        return bytes_BX2[:, :, 0] + 256 * bytes_BX2[:, :, 1]

    def _legal(self, packed: PackedBatch) -> Tensor:
        bits_BL8 = (self._bytes(packed, "legal_bits")[:, :, None] >> self._bits_8) & 1
        return bits_BL8.flatten(1)[:, : self.format.num_actions]

    def _replies(self, packed: PackedBatch) -> Tensor:
        low_B, high_B = self._numbers(packed, "reply").unbind(1)
        reply_B = low_B + 65536 * high_B.short().int()  # the sign is in the high half
        new_B = self._new_action_SA[packed.symmetry_B, reply_B.clamp(min=0)]
        return torch.where(reply_B < 0, -1, new_B)

    def _outcome_targets(self, packed: PackedBatch) -> Tensor:
        ended_BO = self._one_hot_XO[self._bytes(packed, "outcome")[:, 0].long()]
        units_BO = self._numbers(packed, "search_outcomes")
        was_searched_B1 = (units_BO > 0).any(dim=1, keepdim=True)
        has_end_B1 = (ended_BO > 0).any(dim=1, keepdim=True)
        share_B1 = torch.where(has_end_B1, self.format.q_ratio, 1.0)
        mixed_BO = ended_BO + share_B1 * (units_BO / OUTCOME_UNIT - ended_BO)
        return torch.where(was_searched_B1, mixed_BO, ended_BO)
