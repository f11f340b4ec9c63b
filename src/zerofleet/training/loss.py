"""What the network is trained for: the search's policy, how games end, and what nets add.

Shapes: B rows, A actions, O outcomes.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from zerofleet.nets import Network, Output, auxiliary_losses
from zerofleet.replay import Batch


@dataclass(frozen=True)
class TensorBatch:
    """A batch of the replay on the device that trains; the fields are those of replay's Batch."""

    observations_BN: Tensor
    legal_BA: Tensor
    policy_BA: Tensor
    has_policy_B: Tensor
    outcome_target_BO: Tensor
    reply_B: Tensor
    final_observation_BN: Tensor

    @classmethod
    def of(cls, batch: Batch, device: torch.device) -> "TensorBatch":
        def moved(name: str) -> Tensor:
            tensor = torch.from_numpy(getattr(batch, name))
            if device.type == "cuda":
                return tensor.pin_memory().to(device, non_blocking=True)
            return tensor.to(device)

        return cls(**{name: moved(name) for name in cls.__dataclass_fields__})


@dataclass(frozen=True)
class Losses:
    """Means over the rows that have a target; `total` is what is minimised."""

    total: Tensor
    policy: Tensor
    outcome: Tensor
    auxiliary: dict[str, Tensor]
    policy_entropy: Tensor
    policy_accuracy: Tensor
    """Share of rows whose most likely action is the target's."""
    value_error: Tensor
    """Mean square of (expected outcome distribution - target): a Brier score, for calibration."""


ILLEGAL_LOGIT = -1e9


def compute_losses(
    network: Network,
    output: Output,
    batch: TensorBatch,
    value_loss_weight: float,
    auxiliary_loss_weight: float,
) -> Losses:
    logits_BA = output.policy_logits_BA.float()
    # Only legal actions share the probability; rows without a policy keep all and weigh nothing.
    masked_BA = logits_BA + (1 - batch.legal_BA) * batch.has_policy_B[:, None] * ILLEGAL_LOGIT
    log_policy_BA = torch.log_softmax(masked_BA, dim=1)
    num_policies = batch.has_policy_B.sum().clamp(min=1)

    def mean_over_policies(values_B: Tensor) -> Tensor:
        return (values_B * batch.has_policy_B).sum() / num_policies

    policy = mean_over_policies(-(batch.policy_BA * log_policy_BA).sum(dim=1))
    entropy_B = -(log_policy_BA.exp() * log_policy_BA).sum(dim=1)
    same_B = (masked_BA.argmax(dim=1) == batch.policy_BA.argmax(dim=1)).float()

    log_outcomes_BO = torch.log_softmax(output.outcome_logits_BO.float(), dim=1)
    outcome = -(batch.outcome_target_BO * log_outcomes_BO).sum(dim=1).mean()
    gap_BO = log_outcomes_BO.exp() - batch.outcome_target_BO

    auxiliary = auxiliary_losses(network, output, batch)
    total = policy + value_loss_weight * outcome
    if auxiliary:
        total = total + auxiliary_loss_weight * torch.stack(list(auxiliary.values())).sum()
    return Losses(
        total=total,
        policy=policy,
        outcome=outcome,
        auxiliary=auxiliary,
        policy_entropy=mean_over_policies(entropy_B),
        policy_accuracy=mean_over_policies(same_B),
        value_error=(gap_BO**2).sum(dim=1).mean(),
    )
