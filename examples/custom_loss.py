"""A custom loss term: an entropy bonus that keeps the policy from becoming sharp too early.

As a plugin of the command line, with its weight:

    zerofleet train connect4 --plugin examples/custom_loss.py \
        --set train.loss_terms.neg_entropy=0.01

or as a script: python examples/custom_loss.py
"""

import torch
from torch import Tensor

import zerofleet as zf


# B rows, A actions
@zf.training.register_loss_term("neg_entropy")
def neg_entropy(output: zf.nets.Output, batch: zf.training.TensorBatch) -> zf.nets.Mean:
    """The negative entropy of the policy over legal actions; loss/neg_entropy in the metrics."""
    legal_BA = batch.legal_BA.bool() | (batch.has_policy_B == 0)[:, None]
    logits_BA = output.policy_logits_BA.float().masked_fill(~legal_BA, -1e9)
    log_policy_BA: Tensor = torch.log_softmax(logits_BA, dim=1)
    negative_entropy_B = (log_policy_BA.exp() * log_policy_BA).sum(dim=1)
    return zf.nets.mean_over(batch.has_policy_B, negative_entropy_B)


def watch(info: zf.fleet.StepInfo) -> bool:
    """Prints every hundredth step; ends the run once the policy loss is low."""
    policy_loss = info.values["loss/policy"]
    if info.step % 100 == 0:
        entropy = -info.values["loss/neg_entropy"]
        print(f"step {info.step}: policy loss {policy_loss:.3f}, policy entropy {entropy:.3f}")
    return policy_loss > 0.8


if __name__ == "__main__":
    zf.train(
        "connect4",
        run="entropy",
        minutes=2,
        seed=1,
        settings=["train.loss_terms.neg_entropy=0.01"],
        on_step=watch,
        on_version=lambda info: print(f"version {info.version} published"),
    )
