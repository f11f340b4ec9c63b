"""What the network is trained for: the search's policy, how games end, and what nets add.

Shapes: B rows, A actions, O outcomes.
"""

from collections.abc import Mapping

import torch
from torch import Tensor

from zerofleet.nets import Mean, Network, Output, auxiliary_losses, mean_over
from zerofleet.training.unpack import TensorBatch

ILLEGAL_LOGIT = -1e9


def compute_losses(network: Network, output: Output, batch: TensorBatch) -> dict[str, Mean]:
    """The losses by name, and after them what else tells how good the answers are.

    loss/policy, loss/outcome and loss/<auxiliary head>; then policy_entropy, policy_accuracy (share
    of rows whose most likely action is the target's) and value_error (the mean square of expected
    outcome distribution - target: a Brier score, for calibration).
    """
    logits_BA = output.policy_logits_BA.float()
    # Only legal actions share the probability; rows without a policy keep all and weigh nothing.
    masked_BA = logits_BA + (1 - batch.legal_BA) * batch.has_policy_B[:, None] * ILLEGAL_LOGIT
    log_policy_BA = torch.log_softmax(masked_BA, dim=1)
    cross_entropy_B = -(batch.policy_BA * log_policy_BA).sum(dim=1)
    found_BA = log_policy_BA.detach()
    entropy_B = -(found_BA.exp() * found_BA).sum(dim=1)
    same_B = (masked_BA.argmax(dim=1) == batch.policy_BA.argmax(dim=1)).float()

    log_outcomes_BO = torch.log_softmax(output.outcome_logits_BO.float(), dim=1)
    surprise_B = -(batch.outcome_target_BO * log_outcomes_BO).sum(dim=1)
    gap_BO = log_outcomes_BO.detach().exp() - batch.outcome_target_BO
    all_B = torch.ones_like(surprise_B)

    auxiliary = auxiliary_losses(network, output, batch)
    return {
        "loss/policy": mean_over(batch.has_policy_B, cross_entropy_B),
        "loss/outcome": mean_over(all_B, surprise_B),
        **{f"loss/{name}": mean for name, mean in auxiliary.items()},
        "policy_entropy": mean_over(batch.has_policy_B, entropy_B),
        "policy_accuracy": mean_over(batch.has_policy_B, same_B),
        "value_error": mean_over(all_B, (gap_BO**2).sum(dim=1)),
    }


def total_loss(
    parts: Mapping[str, Tensor], value_loss_weight: float, auxiliary_loss_weight: float
) -> Tensor:
    """What is minimised, of values by the names of `compute_losses`."""
    weights = {"loss/policy": 1.0, "loss/outcome": value_loss_weight}
    losses = [
        weights.get(name, auxiliary_loss_weight) * part
        for name, part in parts.items()
        if name.startswith("loss/")
    ]
    return torch.stack(losses).sum()
