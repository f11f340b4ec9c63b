"""The losses: cross-entropy of policy and outcome, auxiliary heads, and custom terms.

Shapes: B rows, A actions, O outcomes.
"""

import re
from collections.abc import Callable, Iterable, Mapping

import torch
from torch import Tensor

from zerofleet.config import TrainConfig, unknown_name
from zerofleet.errors import BadText, Inconsistent, Unsupported
from zerofleet.nets import Mean, Network, Output, mean_over
from zerofleet.training.unpack import TensorBatch

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
