"""Data-parallel training on several devices of one machine: one process per device.

    with train_together(trainer, ["cuda:0", "cuda:1"], num_threads=1, seed=1):
        trainer.step(batch)

Rank 0 is the caller's process, which has everything else: replay, checkpoints, metrics. It starts
the other ranks, scatters each batch to them, and stops them. Each rank computes the gradients of
its rows; an all-reduce sums these and the row counts that means are over. So all ranks take the
step that one process would take with the whole batch. Only a batch norm sees the rows of its own
rank; its running statistics, used in inference, are the mean over the ranks.

A rank that dies or hangs is an error in rank 0: no rank waits forever, and the weights are those of
the last complete step.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor, nn

from zerofleet import nets, plugins
from zerofleet.config import TrainConfig
from zerofleet.errors import Inconsistent, ZerofleetError
from zerofleet.nets import Network, NetworkSpec
from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.loss import TensorBatch
from zerofleet.training.trainer import Group, Trainer, set_up_torch

START_TIMEOUT_S = 300.0
STEP_TIMEOUT_S = 300.0
"""How long a rank waits for the others within a step before it gives up."""
STOP_TIMEOUT_S = 10.0
EXIT_STATUS_TIMEOUT_S = 10.0
"""How long rank 0 waits for a lost rank to exit, to report why."""

ON_ONE_MACHINE = {
    "GLOO_SOCKET_IFNAME": "lo",
    "NCCL_SOCKET_IFNAME": "lo",
    # A timeout raises an error; by default NCCL kills the process.
    "TORCH_NCCL_BLOCKING_WAIT": "1",
}

RUN_RANK = "from zerofleet.training.data_parallel import run_rank; run_rank()"


class ProcessLost(ZerofleetError):
    """A training process is gone; the weights are those of the last whole step."""


@contextmanager
def train_together(
    trainer: Trainer, devices: Sequence[str], num_threads: int, seed: int
) -> Iterator[None]:
    """Within, each step of the trainer is shared by a process per device; its own is the first.

    Each process uses `num_threads` CPU threads. The others start from the trainer's state.
    """
    with tempfile.TemporaryDirectory(prefix="zerofleet-") as name:
        folder = Path(name)
        write_start(folder, trainer, devices, num_threads, seed)
        peers: list[Peer] = []
        try:
            for rank, device in enumerate(devices[1:], start=1):
                peers.append(Peer.start(folder, rank, device))
            wait_until_ready(folder, peers)
            with joined(folder, 0, len(devices), trainer.device):
                trainer.group = Leader(peers)
                try:
                    yield
                finally:
                    for peer in peers:
                        peer.close_input()
        finally:
            trainer.group = Group()
            for peer in peers:
                peer.stop()


def run_rank() -> None:
    """The program of ranks 1 and up; arguments: FOLDER RANK.

    The folder has a checkpoint to start from. Each line of standard input is a step, whose rows
    rank 0 scatters. The process exits when its input ends, even if rank 0 was killed.
    """
    folder, rank = Path(sys.argv[1]), int(sys.argv[2])
    checkpoint, _ = CheckpointStore(folder, keep=1).load_newest()
    assert checkpoint is not None, f"{folder} has no checkpoint to start from"
    start = checkpoint.rest
    for path in start["plugins"]:
        plugins.load(Path(path))
    num_processes, device = len(start["devices"]), torch.device(start["devices"][rank])
    set_up_torch(start["seed"] + rank, start["num_threads"], deterministic=False)
    spec = NetworkSpec.from_dict(start["spec"])
    network, settings = nets.from_spec(spec), TrainConfig(**start["settings"])
    trainer = Trainer(network, settings, device, start["compiles"])
    trainer.restore(checkpoint.tensors, start["trainer"])
    member = Member(num_processes)
    trainer.group = member
    ready_file(folder, rank).touch()
    with joined(folder, rank, num_processes, device):
        for line in sys.stdin:
            step = json.loads(line)
            with trainer.on_own_stream():
                rows = member.receive(spec, step["num_rows"], device)
                trainer.step_on(rows, step["progress"])
            trainer.drop_reports()  # rank 0 reads the same, and refuses what is not finite


class Member(Group):
    """One of several processes, within `joined`."""

    def __init__(self, num_processes: int) -> None:
        self.num_processes = num_processes

    def receive(self, spec: NetworkSpec, num_rows: int, device: torch.device) -> TensorBatch:
        """The rows that rank 0 scatters to this one."""
        rows = TensorBatch.empty(spec, num_rows, device)
        for tensor in rows.fields():
            dist.scatter(tensor, src=0)
        return rows

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        sums = torch.split(flat, [tensor.numel() for tensor in tensors])
        for tensor, total in zip(tensors, sums, strict=True):
            tensor.copy_(total.view(tensor.shape))

    @torch.no_grad()
    def all_reduce_step(self, network: Network, metrics: Tensor) -> None:
        gradients = [each.grad for each in network.parameters() if each.grad is not None]
        statistics = running_statistics(network)
        self.all_reduce([*gradients, *statistics, metrics])
        for statistic in statistics:
            statistic /= self.num_processes


class Leader(Member):
    """Rank 0: scatters batches, and reports which rank is gone and why."""

    def __init__(self, peers: Sequence["Peer"]) -> None:
        super().__init__(1 + len(peers))
        self.peers = peers

    def scatter(self, rows: TensorBatch, progress: float) -> TensorBatch:
        num_rows, rest = divmod(len(rows.has_policy_B), self.num_processes)
        if rest:
            raise Inconsistent(
                f"a batch of {len(rows.has_policy_B)} rows cannot be split evenly over "
                f"{self.num_processes} processes"
            )
        with self._watching():
            for peer in self.peers:
                peer.send(json.dumps({"num_rows": num_rows, "progress": progress}))
            return TensorBatch(*map(self._scatter, rows.fields()))

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        with self._watching():
            super().all_reduce(tensors)

    def _scatter(self, whole: Tensor) -> Tensor:
        shares = list(whole.chunk(self.num_processes))
        own = torch.empty_like(shares[0])
        dist.scatter(own, shares, src=0)
        return own

    @contextmanager
    def _watching(self) -> Iterator[None]:
        try:
            yield
        except (OSError, RuntimeError) as error:
            raise ProcessLost(self._what_happened(error)) from error

    def _what_happened(self, error: Exception) -> str:
        give_up_s = time.monotonic() + EXIT_STATUS_TIMEOUT_S
        while not (lost := exit_statuses(self.peers)) and time.monotonic() < give_up_s:
            time.sleep(0.05)
        first_line = str(error).partition("\n")[0]
        return lost or f"the training processes no longer answer each other: {first_line}"


@dataclass(frozen=True)
class Peer:
    """The process of another rank, as rank 0 sees it."""

    rank: int
    device: str
    process: subprocess.Popen[str]
    log: Path

    @classmethod
    def start(cls, folder: Path, rank: int, device: str) -> "Peer":
        log = folder / f"{rank}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-c", RUN_RANK, str(folder), str(rank)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ.copy(),
                start_new_session=True,  # Ctrl-C is for rank 0, which then stops this one
            )
        return cls(rank, device, process, log)

    def __str__(self) -> str:
        return f"training process {self.rank} ({self.device})"

    def send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def close_input(self) -> None:
        """No step follows; the process exits."""
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def stop(self) -> None:
        """Waits for the process to exit, then kills it."""
        self.close_input()
        try:
            self.process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def exit_status(self) -> str | None:
        """A sentence on how it exited; None while it runs."""
        status = self.process.poll()
        if status is None:
            return None
        lines = self.log.read_text(errors="replace").strip().split("\n")
        last = lines[-1] or "no output"
        if status < 0:
            return f"{self} was killed by signal {-status}: {last}"
        return f"{self} ended with status {status}: {last}"


def exit_statuses(peers: Sequence[Peer]) -> str:
    """How those exited that did; empty while all run."""
    return "; ".join(status for peer in peers if (status := peer.exit_status()) is not None)


def write_start(
    folder: Path, trainer: Trainer, devices: Sequence[str], num_threads: int, seed: int
) -> None:
    """Writes all that the other ranks start from."""
    tensors, numbers = trainer.state()
    start = {
        "trainer": numbers,
        "spec": trainer.network.spec.to_dict(),
        "settings": trainer.settings.model_dump(),
        "devices": list(devices),
        "num_threads": num_threads,
        "seed": seed,
        "compiles": trainer.compiles,
        "plugins": plugins.loaded(),
    }
    CheckpointStore(folder, keep=1).save(Checkpoint(trainer.step_count, tensors, start))


def ready_file(folder: Path, rank: int) -> Path:
    """A rank creates it when it can join."""
    return folder / f"{rank}.ready"


def wait_until_ready(folder: Path, peers: Sequence[Peer]) -> None:
    give_up_s = time.monotonic() + START_TIMEOUT_S
    while not all(ready_file(folder, peer.rank).exists() for peer in peers):
        if lost := exit_statuses(peers):
            raise ProcessLost(lost)
        if time.monotonic() > give_up_s:
            raise ProcessLost(f"the training processes did not start within {START_TIMEOUT_S:g} s")
        time.sleep(0.05)


@contextmanager
def joined(folder: Path, rank: int, num_processes: int, device: torch.device) -> Iterator[None]:
    """Within, this process is one of the group; waits until all have joined.

    They find one another through the folder, which nobody else may have access to.
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


def running_statistics(network: Network) -> list[Tensor]:
    """Those of its batch norms."""
    norms = [module for module in network.modules() if isinstance(module, nn.BatchNorm2d)]
    tensors = [tensor for norm in norms for tensor in (norm.running_mean, norm.running_var)]
    return [tensor for tensor in tensors if tensor is not None]
