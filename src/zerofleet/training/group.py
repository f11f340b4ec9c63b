"""Several processes that train one network, each on a share of every batch.

Each computes the gradients of its rows. These are added up, as are the numbers of rows that means
are over, so all processes take the step that one would take with the whole batch. Only a batch norm
sees the rows of its own process; its running averages, which play, are the mean of all processes'.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from zerofleet.nets import Network, NetworkSpec
from zerofleet.training.unpack import TensorBatch

STEP_TIMEOUT_S = 300.0
"""How long a process waits for the others within a step before it gives up."""

ON_ONE_MACHINE = {
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_SOCKET_IFNAME": "lo",
    # Waiting in vain is to raise an error; unless told, NCCL ends the whole process.
    "TORCH_NCCL_BLOCKING_WAIT": "1",
}


class Group:
    """The processes that train together: here, one alone."""

    num_processes = 1

    def scatter(self, rows: TensorBatch, progress: float) -> TensorBatch:
        """Gives every process its rows of a batch; returns those of this one."""
        return rows

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Puts into each tensor the sum of all processes' tensors."""

    def all_reduce_step(self, network: Network, values: Tensor) -> None:
        """The same for a network's gradients and the values of a step, at one go."""


class Member(Group):
    """One of several processes, within `joined`."""

    def __init__(self, num_processes: int) -> None:
        self.num_processes = num_processes

    def receive(self, spec: NetworkSpec, num_rows: int, device: torch.device) -> TensorBatch:
        """The rows that process 0 deals to this one."""
        rows = TensorBatch.empty(spec, num_rows, device)
        for tensor in rows.fields():
            dist.scatter(tensor, src=0)
        return rows

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        added = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, total in zip(tensors, added, strict=True):
            tensor.copy_(total.view(tensor.shape))

    @torch.no_grad()
    def all_reduce_step(self, network: Network, values: Tensor) -> None:
        gradients = [each.grad for each in network.parameters() if each.grad is not None]
        averages = running_averages(network)
        self.all_reduce([*gradients, *averages, values])
        for average in averages:
            average /= self.num_processes


def running_averages(network: Network) -> list[Tensor]:
    """Those of its batch norms."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    tensors = [tensor for norm in norms for tensor in (norm.running_mean, norm.running_var)]
    return [tensor for tensor in tensors if tensor is not None]


def ready_file(folder: Path, rank: int) -> Path:
    """What a process makes when it can join."""
    return folder / f"{rank}.ready"


@contextmanager
def joined(folder: Path, rank: int, num_processes: int, device: torch.device) -> Iterator[None]:
    """Makes this process one of several, once all are here; ranks are their numbers, from 0.

    They find one another through the folder, which nobody else is to have access to.
    """
    for name, value in ON_ONE_MACHINE.items():
        os.environ.setdefault(name, value)
    on_cuda = device.type == "cuda"
    if on_cuda:
        torch.cuda.set_device(device)
    dist.init_process_group(
        "nccl" if on_cuda else "gloo",
        init_method=f"file://{folder.absolute()}/members",
        rank=rank,
        world_size=num_processes,
        timeout=timedelta(seconds=STEP_TIMEOUT_S),
        device_id=device if on_cuda else None,
    )
    try:
        yield
    finally:
        dist.destroy_process_group()
