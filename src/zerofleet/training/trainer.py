"""The trainer: a batch in, better weights out, with an exponential moving average (EMA) for play.

`Step` is one training step on the device: forward and backward pass, AdamW, EMA. It never reads a
number back, so it never waits for a GPU, and cuda.py can capture it in a graph. `Trainer` feeds it
batches, sets the learning rate, reads the metrics, and saves and restores.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from zerofleet.config import TrainConfig
from zerofleet.errors import ZerofleetError
from zerofleet.nets import Mean, Network
from zerofleet.nets.cuda import compiled, use_tf32
from zerofleet.nets.layers import fuse_attention
from zerofleet.replay import Batch, RowFormat
from zerofleet.training.cuda import CapturedStep, Staging, training_stream
from zerofleet.training.loss import (
    PackedBatch,
    TensorBatch,
    Unpacker,
    compute_losses,
    find_loss_terms,
    total_loss,
)
from zerofleet.weights import Weights

MAX_UNREAD_STEPS = 64
"""Steps on a GPU whose metrics may lie there before they are read."""


def set_up_torch(seed: int, num_threads: int, deterministic: bool) -> None:
    """Sets threads, seed, determinism and precision of the whole process.

    Call it before a network is built. Deterministic is slower and gives the same numbers each time.
    """
    torch.set_num_threads(num_threads)
    torch.manual_seed(seed)
    torch.use_deterministic_algorithms(deterministic)
    use_tf32()


class NotFinite(ZerofleetError):
    """A loss or gradient is not finite; the weights are as they were before that batch."""


@dataclass(frozen=True)
class StepReport:
    """The metrics of a step, as means over its batch."""

    step: int
    learning_rate: float
    grad_norm: float
    values: dict[str, float]
    """loss, loss/policy, loss/outcome, loss/<auxiliary head>, policy_entropy and so on."""


class Group:
    """The processes that train together: here, one alone. data_parallel.py has several."""

    num_processes = 1

    def scatter(self, rows: TensorBatch, progress: float) -> TensorBatch:
        """Gives every process its rows of a batch; returns those of this one."""
        return rows

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Sums each tensor over all processes, in place."""

    def all_reduce_step(self, network: Network, metrics: Tensor) -> None:
        """The same for the network's gradients and the metrics of a step, in one call."""


class Trainer:
    """Owns the network that learns, its optimiser and the EMA of its weights.

    The EMA starts as the weights themselves and follows them with `ema_decay`; self-play and
    players get the EMA.

    On CUDA it works in a stream of its own, of the lowest priority, and `step` does not wait for
    it; with `compiles` the forward pass and the losses are compiled, if the network allows it.
    Metrics are read when they are asked for, or when many are unread; NotFinite is raised then, and
    names the step. Everything else that returns results waits for all steps first.
    """

    def __init__(
        self,
        network: Network,
        settings: TrainConfig,
        device: torch.device,
        compiles: bool = True,
    ) -> None:
        self.settings = settings
        self.device = device
        self.compiles = compiles and device.type == "cuda" and network.trains_compiled
        self.network = network.to(device).train()
        # Convolutions are a third faster in this layout, on a CPU too; other layers ignore it.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if device.type == "cuda":
            fuse_attention(self.network)
        self.step_count = 0
        self.group = Group()
        self._step = Step(self.network, settings, device, self.compiles)
        self._unpack: Unpacker | None = None
        self._reports: list[StepReport] = []
        self._unread: list[tuple[int, float]] = []
        """Step and learning rate of the steps whose metrics have not been read."""
        self._metrics: Tensor | None = None
        """Their metrics, on the device: [max_unread, metrics of a step]."""
        # A gradient scaler handles overflows itself, so its steps are read one by one.
        self._uses_graph = device.type == "cuda" and not self._step.scaler.is_enabled()
        self._max_unread = MAX_UNREAD_STEPS if self._uses_graph else 1
        self._captured: CapturedStep | None = None
        self._stream = training_stream(device) if device.type == "cuda" else None
        self._staging = Staging(device) if device.type == "cuda" else None

    def step(self, batch: Batch, progress: float = 0.0) -> None:
        """One step of the optimiser. NotFinite where a number is not finite.

        `progress` is the share of the run that is done, for a schedule that decays towards its end.
        """
        with self.on_own_stream(), self._on_device(batch) as packed:
            unpack = self._unpacker(batch.format)
            alone = self.group.num_processes == 1
            if self._captured and alone and len(batch) == self.settings.batch_size:
                self._run(partial(self._captured, packed), progress)
            else:
                self.step_on(self.group.scatter(unpack(packed), progress), progress)

    def step_on(self, rows: TensorBatch, progress: float) -> None:
        """The same on rows that are on the device: of several processes, those of this one."""
        self._run(partial(self._step, rows, self.group), progress)

    def compile_ahead(self, blank: Batch) -> None:
        """Compiles what steps on batches like this one need, and changes no weights.

        Otherwise the first step would compile, while self-play plays with untrained weights. With
        several processes it still does.
        """
        if not self.compiles or self.group.num_processes > 1:
            return
        with self.on_own_stream(), self._on_device(blank) as packed:
            self._step.warm_up(self._unpacker(blank.format)(packed))
        self.wait()

    def take_reports(self) -> list[StepReport]:
        """The reports of the steps since the last call; waits for them."""
        self.wait()
        reports, self._reports = self._reports, []
        return reports

    def drop_reports(self) -> None:
        """For a process whose metrics are not read."""
        self._unread.clear()
        self._reports.clear()

    def wait(self) -> None:
        """Waits for all steps. NotFinite if one of them had such a number."""
        with self.on_own_stream():
            self._read_metrics()
        if self._stream is not None:
            self._stream.synchronize()

    @property
    def ema(self) -> dict[str, Tensor]:
        """The EMA of the weights after all steps; the next step changes it in place."""
        self.wait()
        return self._step.ema

    def copy_ema(self) -> dict[str, Tensor]:
        """A copy of the EMA, on the device."""
        with self.on_own_stream():
            copy = {name: value.clone() for name, value in self.ema.items()}
        self.wait()
        return copy

    def weights(self) -> Weights:
        """The EMA as a version to publish or keep; its number is the step."""
        tensors = {name: each.detach().cpu().numpy().copy() for name, each in self.ema.items()}
        return Weights(self.step_count, self.network.spec.to_dict(), tensors)

    @contextmanager
    def on_own_stream(self) -> Iterator[None]:
        """Work within runs after all steps so far, and before later ones."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield

    def begin_with(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Takes initial weights before the first step; the EMA starts from them too."""
        with self.on_own_stream():
            self.network.take(
                {name: torch.from_numpy(each) for name, each in tensors.items()},
                "the first weights",
            )
            for name, value in self.network.state_dict().items():
                self._step.ema[name].copy_(value)
        self.wait()

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything needed to resume: tensors by name, and what is not a tensor."""
        self.wait()
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"ema.{name}": value for name, value in self._step.ema.items()}
        moments = self._step.optimizer.state_dict()["state"]
        for index, entry in moments.items():
            for name, value in entry.items():
                tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
        return tensors, {"step_count": self.step_count, "scale": self._step.scaler.state_dict()}

    def restore(self, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
        """Resumes from a `state` of the same kind of network."""
        parts: dict[str, dict[str, Tensor]] = {"network": {}, "ema": {}, "optimizer": {}}
        for name, value in tensors.items():
            part, _, inner = name.partition(".")
            parts[part][inner] = value
        moments: dict[int, dict[str, Tensor]] = {}
        for name, value in parts["optimizer"].items():
            index, _, inner = name.partition(".")
            moments.setdefault(int(index), {})[inner] = value
        with self.on_own_stream():
            self.network.take(parts["network"], "the weights of a checkpoint")
            for name, value in parts["ema"].items():
                self._step.ema[name].copy_(value)
            self._step.load_optimizer(moments)
        self.wait()
        self._unpack = self._captured = None  # a graph holds the optimiser's old memory
        self.step_count = int(rest["step_count"])
        self._step.scaler.load_state_dict(rest["scale"])

    def _on_device(self, batch: Batch) -> AbstractContextManager[PackedBatch]:
        packed = PackedBatch.of(batch)
        if self._staging is None:
            return nullcontext(PackedBatch(*(tensor.to(self.device) for tensor in packed)))
        return self._staging.on_device(packed)

    def _unpacker(self, row_format: RowFormat) -> Unpacker:
        if self._unpack is None or self._unpack.format is not row_format:
            self._unpack = unpack = Unpacker(row_format, self.device)
            if self._uses_graph:
                assert self._stream is not None
                self._captured = CapturedStep(
                    lambda packed: self._step(unpack(packed), Group()), self._stream
                )
        return self._unpack

    def _run(self, step: Callable[[], Tensor], progress: float) -> None:
        lr = learning_rate(self.step_count, progress, self.settings)
        self._step.lr.fill_(lr)
        self._step.ema_weight.fill_(1 - ema_decay(self.step_count + 1, self.settings))
        metrics = step()
        self.step_count += 1
        if self._metrics is None:
            self._metrics = torch.zeros(self._max_unread, len(metrics), device=self.device)
        self._metrics[len(self._unread)].copy_(metrics)
        self._unread.append((self.step_count, lr))
        if len(self._unread) == self._max_unread:
            self._read_metrics()

    def _read_metrics(self) -> None:
        """Turns the metrics on the device into reports."""
        if self._metrics is None or not self._unread:
            return
        unread, self._unread = self._unread, []
        rows = self._metrics[: len(unread)].tolist()
        for (step, lr), (grad_norm, *values) in zip(unread, rows, strict=True):
            named = dict(zip(self._step.metric_names[1:], values, strict=True))
            report = StepReport(step, lr, grad_norm, named)
            self._refuse_not_finite(report)
            self._reports.append(report)

    def _refuse_not_finite(self, report: StepReport) -> None:
        bad = [name for name, value in report.values.items() if not math.isfinite(value)]
        if not math.isfinite(report.grad_norm) and not self._step.scaler.is_enabled():
            bad.append("grad_norm")
        if bad:
            self.step_count = report.step - 1
            self._step.halted.zero_()
            raise NotFinite(
                f"step {report.step}: {', '.join(bad)} not finite in the batch; the "
                f"weights of step {self.step_count} are kept. Try a lower train.learning_rate"
            )


def learning_rate(step: int, progress: float, settings: TrainConfig) -> float:
    """At a step, counted from 0: linear warm-up, then constant or cosine decay by `progress`."""
    warmup = min(1.0, (step + 1) / (settings.warmup_steps + 1))
    if settings.schedule == "constant":
        return settings.learning_rate * warmup
    return settings.learning_rate * (warmup * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))


def ema_decay(step: int, settings: TrainConfig) -> float:
    """Decay of the EMA at a step, counted from 1: lower at first, to forget the random start."""
    return min(settings.ema_decay, step / (step + 10))


class Step:
    """The network, its optimiser and the EMA of its weights, all changed in place by a step.

    A step with a number that is not finite changes nothing, and neither do those after it
    (`halted`), until the trainer has read the metrics.
    """

    def __init__(
        self, network: Network, settings: TrainConfig, device: torch.device, compiles: bool
    ) -> None:
        self.network = network
        self.settings = settings
        self.device = device
        self.metric_names: list[str] = []
        """Of what a step returns; known after the first."""
        self.lr = torch.zeros((), device=device)
        """Learning rate of the next step."""
        self.ema_weight = torch.zeros((), device=device)
        """Weight of the new weights in the EMA, in the next step."""
        self.halted = torch.zeros((), device=device)
        """1 from the first step on that had a number that is not finite, else 0."""
        self.optimizer = torch.optim.AdamW(
            parameter_groups(network, settings.weight_decay),
            lr=self.lr,
            fused=True,
            capturable=device.type == "cuda",
        )
        state = network.state_dict()
        self.ema = {name: value.clone() for name, value in state.items()}
        parameter_names = {name for name, _ in network.named_parameters()}
        self._buffers = [value for name, value in state.items() if name not in parameter_names]
        self._buffers_before = [value.clone() for value in self._buffers]
        floats = [name for name, value in state.items() if value.is_floating_point()]
        counts = [name for name in state if name not in floats]
        both = (state, self.ema)
        self._weights, self._averages = ([each[name] for name in floats] for each in both)
        self._counts, self._ema_counts = ([each[name] for name in counts] for each in both)
        self.autocast_type = autocast_type(settings.precision, device)
        self.scaler = torch.amp.GradScaler(device.type, enabled=self.autocast_type is torch.float16)
        if not self.scaler.is_enabled():
            self.optimizer.found_inf = self.halted  # type: ignore[attr-defined]
        self._loss_terms = find_loss_terms(settings.loss_terms)
        self._losses = compiled(self._eager_losses) if compiles else self._eager_losses

    def __call__(self, rows: TensorBatch, group: Group) -> Tensor:
        """Takes the step and returns its metrics, by `metric_names`."""
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
        metrics = torch.stack([loss, *parts.values()]).detach()
        group.all_reduce_step(self.network, metrics)
        self.scaler.unscale_(self.optimizer)
        grad_norm = torch.nn.utils.clip_grad_norm_(
            self.network.parameters(), self.settings.max_grad_norm
        )
        self._halt_unless_finite(metrics, grad_norm)
        for buffer, before in zip(self._buffers, self._buffers_before, strict=True):
            buffer.copy_(torch.where(self.halted > 0, before, buffer))
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self._update_ema()
        self.metric_names = ["grad_norm", "loss", *parts]
        return torch.cat([grad_norm[None], metrics])

    def warm_up(self, rows: TensorBatch) -> None:
        """Runs forward and backward pass, so that they are compiled, and changes no weights."""
        copy_all(self._buffers_before, self._buffers)
        totals = [mean.total for mean in self._losses(rows).values()]
        torch.stack(totals).sum().backward()  # type: ignore[no-untyped-call]
        self.optimizer.zero_grad(set_to_none=True)
        copy_all(self._buffers, self._buffers_before)

    def load_optimizer(self, moments: Mapping[int, Mapping[str, Tensor]]) -> None:
        """Takes over the optimiser's moments of each parameter, by its number."""
        parameters = [each for group in self.optimizer.param_groups for each in group["params"]]
        state: dict[str, Any] = self.optimizer.state_dict()
        state["state"] = {
            index: {name: laid_out_as(parameters[index], value) for name, value in entry.items()}
            for index, entry in moments.items()
        }
        self.optimizer.load_state_dict(state)
        for group in self.optimizer.param_groups:
            group["lr"] = self.lr

    def _eager_losses(self, rows: TensorBatch) -> dict[str, Mean]:
        # Weights change between steps, and a graph is captured once: no cast may be cached.
        with torch.autocast(
            self.device.type,
            dtype=self.autocast_type or torch.bfloat16,
            enabled=self.autocast_type is not None,
            cache_enabled=False,
        ):
            output = self.network(rows.observations_BN)
            return compute_losses(self.network, output, rows, self._loss_terms)

    @torch.no_grad()
    def _halt_unless_finite(self, metrics: Tensor, grad_norm: Tensor) -> None:
        is_finite = metrics.isfinite().all()
        # A scaler finds overflows itself, skips the step and lowers its scale.
        if not self.scaler.is_enabled():
            is_finite = is_finite & grad_norm.isfinite()
        self.halted.copy_(torch.maximum(self.halted, 1 - is_finite.float()))

    @torch.no_grad()
    def _update_ema(self) -> None:
        gaps = torch._foreach_sub(self._weights, self._averages)
        torch._foreach_mul_(gaps, self.ema_weight * (1 - self.halted))
        torch._foreach_add_(self._averages, gaps)
        copy_all(self._ema_counts, self._counts)


def copy_all(targets: list[Tensor], sources: list[Tensor]) -> None:
    if targets:
        torch._foreach_copy_(targets, sources)


def laid_out_as(parameter: Tensor, value: Tensor) -> Tensor:
    """A value in the memory layout of its parameter, which fused kernels rely on."""
    if value.shape != parameter.shape:
        return value
    return torch.empty_like(parameter, requires_grad=False).copy_(value)


def parameter_groups(network: Network, weight_decay: float) -> list[dict[str, Any]]:
    """Weight decay for matrices and kernels; none for biases, scales and other vectors."""
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
