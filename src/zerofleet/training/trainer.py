"""Makes steps: a batch in, better weights out, with an exponential moving average for play."""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from zerofleet.config import TrainConfig
from zerofleet.errors import ZerofleetError
from zerofleet.nets import Network
from zerofleet.nets.layers import fuse_attention
from zerofleet.replay import Batch, RowFormat
from zerofleet.training.captured import CapturedStep
from zerofleet.training.group import Group
from zerofleet.training.staging import Staging
from zerofleet.training.step import Step
from zerofleet.training.unpack import TensorBatch, Unpacker
from zerofleet.weights import Weights

MAX_UNREAD_STEPS = 64
"""Steps on a GPU whose numbers may lie there before they are read."""


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
    """Owns the network that learns, its optimiser and the exponential moving average (EMA) of its
    weights.

    The EMA starts as the weights themselves and follows them with `ema_decay`; it is what
    self-play and players get.

    On CUDA it works in a stream of its own, of the lowest priority, and `step` does not wait for
    it; with `compiles` forward pass and losses are compiled, if the network's may be. What steps
    found is read when it is asked for, or when there is much of it; NotFinite comes then, and names
    the step. All else that gives something away waits for all steps first.
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
        # Convolutions are a third faster so, also on a CPU; other layers do not mind.
        self.network.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        if device.type == "cuda":
            fuse_attention(self.network)
        self.step_count = 0
        self.group = Group()
        self._step = Step(self.network, settings, device, self.compiles)
        self._staging = Staging(device)
        self._unpack: Unpacker | None = None
        self._captured: CapturedStep | None = None
        self._reports: list[StepReport] = []
        self._unread: list[tuple[int, float]] = []
        """Step and learning rate of those steps whose numbers have not been read."""
        self._found: Tensor | None = None
        """These numbers, on the device: [max_unread, values]."""
        self._stream = None
        # A scaler has its own way with what is not finite, so it is looked at after each step.
        self._steps_from_graph = device.type == "cuda" and not self._step.scaler.is_enabled()
        self._max_unread = MAX_UNREAD_STEPS if self._steps_from_graph else 1
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device, priority=0)  # type: ignore[no-untyped-call]
            self._stream.wait_stream(torch.cuda.current_stream(device))

    def compile_ahead(self, blank: Batch) -> None:
        """Compiles what steps on batches like this one need, and learns nothing.

        Else it would be done when there are games to learn from, and those that are played
        meanwhile would be played by weights that know nothing. With several processes it still is.
        """
        if not self.compiles or self.group.num_processes > 1:
            return
        with self.on_own_stream():
            self._step.try_out(self._unpacker(blank.format)(self._staging.bring(blank)))
            self._staging.was_read()
        self.wait()

    def step(self, batch: Batch, progress: float = 0.0) -> None:
        """One step of the optimiser. NotFinite where a number went out of range.

        `progress` is the share of the run that is done, for a rate that falls towards its end.
        """
        with self.on_own_stream():
            unpack = self._unpacker(batch.format)
            packed = self._staging.bring(batch)
            alone = self.group.num_processes == 1
            if self._captured and alone and len(batch) == self.settings.batch_size:
                self._make(partial(self._captured, packed), progress)
            else:
                self.step_on(self.group.scatter(unpack(packed), progress), progress)
            self._staging.was_read()

    def step_on(self, rows: TensorBatch, progress: float) -> None:
        """The same with rows that are there already: of several processes, those of this one."""
        self._make(partial(self._step, rows, self.group), progress)

    def take_reports(self) -> list[StepReport]:
        """What the steps found that were made since this was last asked; waits for them."""
        self.wait()
        reports, self._reports = self._reports, []
        return reports

    def drop_reports(self) -> None:
        """For a process whose numbers nobody asks for."""
        self._unread.clear()
        self._reports.clear()

    def wait(self) -> None:
        """For all steps. NotFinite where one of them found such a number."""
        with self.on_own_stream():
            self._read()
        if self._stream is not None:
            self._stream.synchronize()

    @property
    def ema(self) -> dict[str, Tensor]:
        """The weights that play, after all steps; the next step changes them."""
        self.wait()
        return self._step.ema

    def copy_ema(self) -> dict[str, Tensor]:
        """The same, for whoever is to have them."""
        with self.on_own_stream():
            copy = {name: value.clone() for name, value in self.ema.items()}
        self.wait()
        return copy

    def weights(self) -> Weights:
        """The same as a version to publish or keep; its number is the step."""
        tensors = {name: each.detach().cpu().numpy().copy() for name, each in self.ema.items()}
        return Weights(self.step_count, self.network.spec.to_dict(), tensors)

    @contextmanager
    def on_own_stream(self) -> Iterator[None]:
        """What is done within is done after all steps, and before those to come."""
        if self._stream is None:
            yield
            return
        with torch.cuda.stream(self._stream):
            yield

    def state(self) -> tuple[dict[str, Tensor], dict[str, Any]]:
        """Everything needed to go on: tensors by name, and what is not a tensor."""
        self.wait()
        tensors = {f"network.{name}": value for name, value in self.network.state_dict().items()}
        tensors |= {f"ema.{name}": value for name, value in self._step.ema.items()}
        moments = self._step.optimizer.state_dict()["state"]
        for index, entry in moments.items():
            for name, value in entry.items():
                tensors[f"optimizer.{index}.{name}"] = torch.as_tensor(value)
        return tensors, {"step_count": self.step_count, "scale": self._step.scaler.state_dict()}

    def begin_with(self, tensors: Mapping[str, NDArray[Any]]) -> None:
        """Takes weights of such a network before the first step; they are the average too."""
        with self.on_own_stream():
            self.network.take(
                {name: torch.from_numpy(each) for name, each in tensors.items()},
                "the first weights",
            )
            for name, value in self.network.state_dict().items():
                self._step.ema[name].copy_(value)
        self.wait()

    def restore(self, tensors: dict[str, Tensor], rest: dict[str, Any]) -> None:
        """Goes back to what `state` gave, of such a network."""
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
        self._unpack = self._captured = None  # a graph knows the optimiser's old memory
        self.step_count = int(rest["step_count"])
        self._step.scaler.load_state_dict(rest["scale"])

    def _unpacker(self, row_format: RowFormat) -> Unpacker:
        if self._unpack is None or self._unpack.format is not row_format:
            self._unpack = unpack = Unpacker(row_format, self.device)
            if self._steps_from_graph:
                assert self._stream is not None
                self._captured = CapturedStep(
                    lambda packed: self._step(unpack(packed), Group()), self._stream
                )
        return self._unpack

    def _make(self, step: Callable[[], Tensor], progress: float) -> None:
        rate = self.settings.learning_rate * learning_rate_share(
            self.step_count, progress, self.settings
        )
        self._step.rate.fill_(rate)
        self._step.ema_weight.fill_(1 - ema_decay(self.step_count + 1, self.settings))
        found = step()
        self.step_count += 1
        if self._found is None:
            self._found = torch.zeros(self._max_unread, len(found), device=self.device)
        self._found[len(self._unread)].copy_(found)
        self._unread.append((self.step_count, rate))
        if len(self._unread) == self._max_unread:
            self._read()

    def _read(self) -> None:
        """Turns what steps have left on the device into reports."""
        if self._found is None or not self._unread:
            return
        unread, self._unread = self._unread, []
        for (step, rate), found in zip(unread, self._found[: len(unread)].tolist(), strict=True):
            grad_norm, *values = found
            report = StepReport(
                step, rate, grad_norm, dict(zip(self._step.value_names[1:], values, strict=True))
            )
            self._refuse_not_finite(report)
            self._reports.append(report)

    def _refuse_not_finite(self, report: StepReport) -> None:
        bad = [name for name, value in report.values.items() if not math.isfinite(value)]
        if not math.isfinite(report.grad_norm) and not self._step.scaler.is_enabled():
            bad.append("grad_norm")
        if bad:
            self.step_count = report.step - 1
            self._step.stopped.zero_()
            raise NotFinite(
                f"step {report.step}: {', '.join(bad)} not finite in the batch; the "
                f"weights of step {self.step_count} are kept. Try a lower train.learning_rate"
            )


def learning_rate_share(step: int, progress: float, settings: TrainConfig) -> float:
    """Share of the full rate at a step (counted from 0) of a run of which so much is done."""
    warm = min(1.0, (step + 1) / (settings.warmup_steps + 1))
    if settings.schedule == "constant":
        return warm
    return warm * 0.5 * (1 + math.cos(math.pi * min(1.0, progress)))


def ema_decay(step: int, settings: TrainConfig) -> float:
    """Of the EMA after so many steps. Early on it would remember the random start, so it decays
    faster then."""
    return min(settings.ema_decay, step / (step + 10))
