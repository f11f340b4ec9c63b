"""One step of training as a function of what lies on the device.

Nothing here reads a number back, so nothing waits for a GPU, and a step can be captured in a CUDA
graph. Where a number is not finite the step changes nothing, and neither do those after it.
"""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from zerofleet.config import TrainConfig
from zerofleet.nets import Mean, Network
from zerofleet.nets.cuda import compiled
from zerofleet.training.group import Group
from zerofleet.training.loss import compute_losses, find_loss_terms, total_loss
from zerofleet.training.unpack import TensorBatch


class Step:
    """The network, its optimiser and the EMA of its weights, all changed in place by a step."""

    def __init__(
        self, network: Network, settings: TrainConfig, device: torch.device, compiles: bool
    ) -> None:
        self.network = network
        self.settings = settings
        self.device = device
        self.value_names: list[str] = []
        """Of what a step returns; known after the first."""
        self.rate = torch.zeros((), device=device)
        """Of the optimiser, for the next step."""
        self.ema_weight = torch.zeros((), device=device)
        """Of the new weights in the exponential moving average, for the next step."""
        self.stopped = torch.zeros((), device=device)
        """1 from the first step on that met a number that is not finite, else 0."""
        self.optimizer = torch.optim.AdamW(
            parameter_groups(network, settings.weight_decay),
            lr=self.rate,
            fused=True,
            capturable=device.type == "cuda",
        )
        state = network.state_dict()
        self.ema = {name: value.clone() for name, value in state.items()}
        parameter_names = {name for name, _ in network.named_parameters()}
        self._buffers = [value for name, value in state.items() if name not in parameter_names]
        self._buffers_before = [value.clone() for value in self._buffers]
        self._numbers = [name for name, value in state.items() if value.is_floating_point()]
        self._counts = [name for name, value in state.items() if not value.is_floating_point()]
        self._state = state
        self.autocast_type = autocast_type(settings.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.autocast_type is torch.float16)
        if not self.scaler.is_enabled():
            self.optimizer.found_inf = self.stopped  # type: ignore[attr-defined]
        self._loss_terms = find_loss_terms(settings.loss_terms)
        self._losses = compiled(self._plain_losses) if compiles else self._plain_losses

    def __call__(self, rows: TensorBatch, group: Group) -> Tensor:
        """Makes the step and returns what it found, by `value_names`."""
        copy_all(self._buffers_before, self._buffers)
        self.optimizer.zero_grad(set_to_none=True)
        means = self._losses(rows)
        num_rows = torch.stack([mean.num_rows.float() for mean in means.values()])
        group.all_reduce([num_rows])
        parts = {
            name: mean.total / num
            for (name, mean), num in zip(means.items(), num_rows.clamp(min=1), strict=True)
        }
        loss = total_loss(parts, self.settings)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        found = torch.stack([loss, *parts.values()]).detach()
        group.all_reduce_step(self.network, found)
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.max_grad_norm
        )
        self._stop_unless_finite(found, norm)
        for buffer, before in zip(self._buffers, self._buffers_before, strict=True):
            buffer.copy_(torch.where(self.stopped > 0, before, buffer))
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self._update_ema()
        self.value_names = ["grad_norm", "loss", *parts]
        return torch.cat([norm[None], found])

    def try_out(self, rows: TensorBatch) -> None:
        """Computes losses and gradients, so that they are compiled, and changes no weights."""
        copy_all(self._buffers_before, self._buffers)
        totals = [mean.total for mean in self._losses(rows).values()]
        torch.stack(totals).sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.zero_grad(set_to_none=True)
        copy_all(self._buffers, self._buffers_before)

    def load_optimizer(self, moments: Mapping[int, Mapping[str, Tensor]]) -> None:
        """Takes over what it remembers of each parameter, by its number."""
        parameters = [each for group in self.optimizer.param_groups for each in group["params"]]
        state: dict[str, Any] = self.optimizer.state_dict()
        state["state"] = {
            index: {name: laid_out_as(parameters[index], value) for name, value in entry.items()}
            for index, entry in moments.items()
        }
        self.optimizer.load_state_dict(state)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate

    def _plain_losses(self, rows: TensorBatch) -> dict[str, Mean]:
        # Weights change between steps, and a graph is captured once: nothing cast may be kept.
        with torch.autocast(
            self.device.type,
            dtype=self.autocast_type or torch.bfloat16,
            enabled=self.autocast_type is not None,
            cache_enabled=False,
        ):
            output = self.network(rows.observations_BN)
            return compute_losses(self.network, output, rows, self._loss_terms)

    @torch.no_grad()
    def _stop_unless_finite(self, found: Tensor, norm: Tensor) -> None:
        is_finite = found.isfinite().all()
        # A scaler finds overflows by itself, skips the step and lowers its scale.
        if not self.scaler.is_enabled():
            is_finite = is_finite & norm.isfinite()
        self.stopped.copy_(torch.maximum(self.stopped, 1 - is_finite.float()))

    @torch.no_grad()
    def _update_ema(self) -> None:
        averages = [self.ema[name] for name in self._numbers]
        gaps = torch._foreach_sub([self._state[name] for name in self._numbers], averages)
        torch._foreach_mul_(gaps, self.ema_weight * (1 - self.stopped))
        torch._foreach_add_(averages, gaps)
        copy_all(
            [self.ema[name] for name in self._counts],
            [self._state[name] for name in self._counts],
        )


def copy_all(targets: list[Tensor], sources: list[Tensor]) -> None:
    if targets:
        torch._foreach_copy_(targets, sources)


def laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    """A value of a parameter's shape, in memory as that is: fused kernels go by memory."""
    if value.shape != parameter.shape:
        return value
    return torch.empty_like(parameter, requires_grad=False).copy_(value)


def parameter_groups(network: Network, weight_decay: float) -> list[dict[str, Any]]:
    """Decay for matrices and kernels; none for biases, scales and other vectors."""
    matrices = [each for each in network.parameters() if each.ndim > 1]
    vectors = [each for each in network.parameters() if each.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def autocast_type(precision: str, device: torch.device) -> torch.dtype | None:
    """The number type of the forward pass; None is plain float32."""
    if precision == "fp32" or (precision == "auto" and device.type != "cuda"):
        return None
    if precision == "auto":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if precision == "bf16" else torch.float16
