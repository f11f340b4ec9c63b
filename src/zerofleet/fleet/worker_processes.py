"""How many worker processes fit a machine, and running them.

On a CPU each process plays with one core; with GPUs there is one process per GPU, and the cores
search for them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from zerofleet.cores import num_cores
from zerofleet.fleet.handshake import POLL_S, Say, rest
from zerofleet.fleet.machine import memory_bytes
from zerofleet.fleet.processes import Process, end, own_command
from zerofleet.fleet.signals import GracefulStop
from zerofleet.infer.load import has_torch
from zerofleet.printing import size_text

PROCESS_BYTES = 600 << 20
"""Memory of a process without its search trees: about 250 MiB of programs, the rest for games and
the evaluation cache as it fills."""

ALL_GPUS = ("auto", "cuda")
"""Devices that stand for every GPU of the machine; cuda:1 or mps is one."""


@dataclass(frozen=True)
class ProcessPlan:
    num_processes: int
    num_search_threads: int
    """Of each process, with a GPU."""
    why: str


def plan_processes(device: str, given: int | None, num_threads: int | None = None) -> ProcessPlan:
    """The given number of processes, else as many as cores and memory or GPUs allow."""
    cores, num_gpus = num_cores(), count_gpus(device)
    if num_gpus:
        number = given or num_gpus
        threads = num_threads or max(1, (cores - number) // number)
        return ProcessPlan(number, threads, f"{num_gpus} GPUs, {cores} cores")
    by_memory = max(1, memory_bytes() // PROCESS_BYTES)
    number = given or min(cores, by_memory)
    why = f"{cores} cores, {size_text(memory_bytes())} of memory"
    return ProcessPlan(number, num_threads or 1, why)


def count_gpus(device: str) -> int:
    if device == "cpu" or not has_torch():
        return 0
    if device not in ALL_GPUS:
        return 1
    # Imported here: it loads torch.
    from zerofleet.infer.devices import count_devices

    return count_devices("cuda")


def devices_of(device: str, plan: ProcessPlan) -> list[str]:
    """The device of each process: GPUs in turn."""
    num_gpus = count_gpus(device)
    if not num_gpus or device not in ALL_GPUS:
        return [device] * plan.num_processes
    return [f"cuda:{number % num_gpus}" for number in range(plan.num_processes)]


def run_processes(
    worker_id: str,
    commands: Sequence[Sequence[str]],
    patience_s: float,
    stop: GracefulStop,
    say: Say,
) -> int:
    """Runs a worker as several processes until all end, one fails or the signal comes. Returns the
    exit status of the first that failed, else 0."""
    processes = [
        Process(f"{worker_id}/{number}", own_command(*command), lambda name, line: say(line))
        for number, command in enumerate(commands)
    ]
    try:
        while not stop.requested:
            statuses = [process.exit_status for process in processes]
            if any(statuses) or None not in statuses:
                break
            rest(POLL_S, stop)
    finally:
        end(processes, patience_s)
    return next((process.exit_status for process in processes if process.exit_status), 0) or 0
