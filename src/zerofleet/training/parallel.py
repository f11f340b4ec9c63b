"""Training on several devices of one machine: a process for each of them.

    with train_together(trainer, ["cuda:0", "cuda:1"], num_threads=1, seed=1):
        trainer.step(batch)

Process 0 is the one that has all else, replay and checkpoints too. It starts the others, deals each
batch to them, and ends them. One that ends too early, or does not answer, is an error here: nobody
waits for ever, and the weights are those of the last whole step.
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
from pathlib import Path

import torch
import torch.distributed as dist
from torch import Tensor

from zerofleet import plugins
from zerofleet.errors import Inconsistent, ZerofleetError
from zerofleet.training.checkpoint import Checkpoint, CheckpointStore
from zerofleet.training.group import Group, Member, joined, ready_file
from zerofleet.training.trainer import Trainer
from zerofleet.training.unpack import TensorBatch

START_TIMEOUT_S = 300.0
END_TIMEOUT_S = 10.0
LAST_WORDS_S = 10.0
"""How long one that seems lost may take to end, so that it can be said why."""


class ProcessLost(ZerofleetError):
    """One of the processes that train is gone; the weights are those of the last whole step."""


@dataclass(frozen=True)
class Other:
    """A process that trains along."""

    rank: int
    device: str
    process: subprocess.Popen[str]
    log: Path

    @classmethod
    def start(cls, folder: Path, rank: int, device: str) -> "Other":
        log = folder / f"{rank}.log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [sys.executable, "-m", "zerofleet.training.rank", str(folder), str(rank)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=subprocess.STDOUT,
                text=True,
                env=os.environ.copy(),
                start_new_session=True,  # Ctrl-C is for process 0, which then ends this one
            )
        return cls(rank, device, process, log)

    def __str__(self) -> str:
        return f"training process {self.rank} ({self.device})"

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()

    def end_of_work(self) -> None:
        assert self.process.stdin is not None
        with suppress(OSError):
            self.process.stdin.close()

    def end(self) -> None:
        """Waits for its end, and makes it if it does not come."""
        self.end_of_work()
        try:
            self.process.wait(END_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def exit_status(self) -> str | None:
        """What became of it; None while it lives."""
        status = self.process.poll()
        if status is None:
            return None
        lines = self.log.read_text(errors="replace").strip().split("\n")
        last = lines[-1] or "it said nothing"
        if status < 0:
            return f"{self} was killed by signal {-status}: {last}"
        return f"{self} ended with status {status}: {last}"


class Leader(Member):
    """Process 0: deals, and says clearly when another is gone."""

    def __init__(self, others: Sequence[Other]) -> None:
        super().__init__(1 + len(others))
        self.others = others

    def scatter(self, rows: TensorBatch, progress: float) -> TensorBatch:
        num_rows, rest = divmod(len(rows.has_policy_B), self.num_processes)
        if rest:
            raise Inconsistent(
                f"a batch of {len(rows.has_policy_B)} rows cannot be dealt evenly to "
                f"{self.num_processes} processes"
            )
        with self._watching():
            for other in self.others:
                other.tell(json.dumps({"num_rows": num_rows, "progress": progress}))
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
        give_up_s = time.monotonic() + LAST_WORDS_S
        while not (fates := fates_of(self.others)) and time.monotonic() < give_up_s:
            time.sleep(0.05)
        first_line = str(error).partition("\n")[0]
        return fates or f"the training processes no longer answer one another: {first_line}"


def fates_of(others: Sequence[Other]) -> str:
    """What became of those that are gone; empty where none is."""
    return "; ".join(status for other in others if (status := other.exit_status()) is not None)


@contextmanager
def train_together(
    trainer: Trainer, devices: Sequence[str], num_threads: int, seed: int
) -> Iterator[None]:
    """Within, each step of the trainer is shared by a process per device; the first is its own.

    Each process has so many threads of the CPU. The others begin with the trainer's state as it is.
    """
    with tempfile.TemporaryDirectory(prefix="zerofleet-") as name:
        folder = Path(name)
        write_start(folder, trainer, devices, num_threads, seed)
        others: list[Other] = []
        try:
            for rank, device in enumerate(devices[1:], start=1):
                others.append(Other.start(folder, rank, device))
            wait_until_ready(folder, others)
            with joined(folder, 0, len(devices), trainer.device):
                trainer.group = Leader(others)
                try:
                    yield
                finally:
                    for other in others:
                        other.end_of_work()
        finally:
            trainer.group = Group()
            for other in others:
                other.end()


def write_start(
    folder: Path, trainer: Trainer, devices: Sequence[str], num_threads: int, seed: int
) -> None:
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


def wait_until_ready(folder: Path, others: Sequence[Other]) -> None:
    give_up_s = time.monotonic() + START_TIMEOUT_S
    while not all(ready_file(folder, other.rank).exists() for other in others):
        if fates := fates_of(others):
            raise ProcessLost(fates)
        if time.monotonic() > give_up_s:
            raise ProcessLost(f"the training processes did not start within {START_TIMEOUT_S:g} s")
        time.sleep(0.05)
