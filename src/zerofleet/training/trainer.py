"""Makes steps: a batch in, better weights out, with a moving average of them for play."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zerofleet.config import TrainConfig
from zerofleet.errors import ZerofleetError
from zerofleet.nets import Network
from zerofleet.replay import Batch
from zerofleet.training.group import Group
from zerofleet.training.loss import TensorBatch, compute_losses, total_loss


class NotFinite(ZerofleetError):
    """A loss or gradient is not finite; the weights are as they were before that batch."""


@dataclass(frozen=True)
class StepReport:
    """What a step found; means over its batch."""

    step: int
    learning_rate: float
    grad_norm: float
    values: dict[str, float]
    """loss, loss/policy, loss/outcome, loss/<auxiliary head>, policy_entropy and so on."""


class Trainer:
    """Owns the network that learns, its optimiser and the moving average of its weights.

    The average starts as the weights themselves and follows them with `average_decay`; it is what
    self-play and players get.

    On CUDA it works in a stream of its own, of the lowest priority, and waits for it before a
    method ends: whoever reads what it holds between calls, in whatever stream, finds it finished.
    """

    def __init__(self, network: Network, settings: TrainConfig, device: torch.device) -> None:
        self.settings = settings
        self.device = device
        self.network = network.to(device).train()
        # Convolutions are a third faster so, also on a CPU; other layers do not mind.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.optimizer = torch.optim.AdamW(
            parameter_groups(self.network, settings.weight_decay),
            lr=settings.learning_rate,
            fused=device.type == "cuda",
        )
        self.average = {name: value.clone() for name, value in self.network.state_dict().items()}
        self.step_count = 0
        self.autocast_type = autocast_type(settings.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.autocast_type is torch.float16)
        self.group = Group()
        self._stream = None
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device, priority=0)  # type: ignore[no-untyped-call]
            self._stream.wait_stream(torch.cuda.current_stream(device))

    def step(self, batch: Batch, progress: float = 0.0) -> StepReport:
        """One step of the optimiser. NotFinite where a number went out of range.

        `progress` is the share of the run that is done, for a rate that falls towards its end.
        """
        with self.on_own_stream():
            return self.step_on(self.group.deal(batch, progress, self.device), progress)

    def step_on(self, rows: TensorBatch, progress: float) -> StepReport:
        """The same with rows that are there already: of several processes, those of this one."""
        rate = self._set_learning_rate(progress)
        with torch.autocast(
            self.device.type,
            dtype=self.autocast_type or torch.bfloat16,
            enabled=self.autocast_type is not None,
        ):
            means = compute_losses(self.network, self.network(rows.observations_BN), rows)
        num_rows = torch.stack([mean.num_rows.float() for mean in means.values()])
        self.group.add_up([num_rows])
        parts = {
            name: mean.total / num
            for (name, mean), num in zip(means.items(), num_rows.clamp(min=1), strict=True)
        }
        loss = total_loss(
            parts, self.settings.value_loss_weight, self.settings.auxiliary_loss_weight
        )
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(loss).backward()  # type: ignore[no-untyped-call]
        values = torch.stack([loss, *parts.values()]).detach()
        self.group.add_up_step(self.network, values)
        self.scaler.unscale_(self.optimizer)
        norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.max_grad_norm
        )
        grad_norm, *rest = torch.cat([norm[None], values]).tolist()
        found = dict(zip(["loss", *parts], rest, strict=True))
        self._refuse_not_finite(grad_norm, found)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step_count += 1
        self._update_average()
        return StepReport(self.step_count, rate, grad_norm, found)

    def copy_average(self) -> dict[str, Tensor]:
        """The weights that play, for whoever is to have them."""
        with self.on_own_stream():
            return {name: value.clone() for name, value in self.average.items()}

    @contextmanager
    def on_own_stream(self) -> Iterator[None]:
        """What is done within is finished when it ends."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield
        self._stream.synchronize()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything needed to go on: tensors by name, and what is not a tensor."""
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"average.{name}": value for name, value in self.average.items()}
        moments = self.optimizer.state_dict()["state"]
        for index, entry in moments.items():
            for name, value in entry.items():
                tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
        return tensors, {"step_count": self.step_count, "scale": self.scaler.state_dict()}

    def restore(self, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
        """Goes back to what `state` gave."""
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "average": {}, "optimizer": {}}
        for name, value in tensors.items():
            part, _, inner = name.partition(".")
            parts[part][inner] = value
        self.network.load_state_dict(parts["network"])
        self.average = {name: value.to(self.device) for name, value in parts["average"].items()}
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in parts["optimizer"].items():
            index, _, inner = name.partition(".")
            moments.setdefault(int(index), {})[inner] = value
        optimizer = self.optimizer.state_dict()
        optimizer["state"] = moments
        self.optimizer.load_state_dict(optimizer)
        self.step_count = int(rest["step_count"])
        self.scaler.load_state_dict(rest["scale"])

    def _set_learning_rate(self, progress: float) -> float:
        share = learning_rate_share(self.step_count, progress, self.settings)
        rate = self.settings.learning_rate * share
        for group in self.optimizer.param_groups:
            group["lr"] = rate
        return rate

    def _refuse_not_finite(self, grad_norm: float, values: dict[str, float]) -> None:
        bad = [name for name, value in values.items() if not math.isfinite(value)]
        # A scaler finds overflows by itself, skips the step and lowers its scale.
        if not math.isfinite(grad_norm) and not self.scaler.is_enabled():
            bad.append("grad_norm")
        if bad:
            raise NotFinite(
                f"step {self.step_count + 1}: {', '.join(bad)} not finite in the batch; the "
                f"weights of step {self.step_count} are kept. Try a lower train.learning_rate"
            )

    @torch.no_grad()
    def _update_average(self) -> None:
        # Early on the average would remember the random start: it follows faster then.
        decay = min(self.settings.average_decay, self.step_count / (self.step_count + 10))
        for name, value in self.network.state_dict().items():
            if value.is_floating_point():
                self.average[name].lerp_(value, 1 - decay)
            else:
                self.average[name].copy_(value)


def parameter_groups(network: Network, weight_decay: float) -> list[dict[str, Any]]:
    """Decay for matrices and kernels; none for biases, scales and other vectors."""
    matrices = [each for each in network.parameters() if each.ndim > 1]
    vectors = [each for each in network.parameters() if each.ndim <= 1]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def learning_rate_share(step: int, progress: float, settings: TrainConfig) -> float:
    """Share of the full rate at a step (counted from 0) of a run of which so much is done."""
    warm = min(1.0, (step + 1) / (settings.warmup_steps + 1))
    if settings.schedule == "constant":
        return warm
    return warm * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def autocast_type(precision: str, device: torch.device) -> torch.dtype | None:
    """The number type of the forward pass; None is plain float32."""
    if precision == "fp32" or (precision == "auto" and device.type != "cuda"):
        return None
    if precision == "auto":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16
    return torch.bfloat16 if precision == "bf16" else torch.float16
