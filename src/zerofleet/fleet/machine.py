"""Chooses the preset that fits this machine, for a run started without one."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zerofleet.config import Override, override_of, preset_names
from zerofleet.cores import num_cores
from zerofleet.runs.folder import check_name, run_names
from zerofleet.runs.game import default_name


@dataclass(frozen=True)
class Machine:
    """The hardware that decides the preset."""

    device: str
    """cuda, mps or cpu."""
    num_cores: int
    gpu_name: str = ""
    num_gpus: int = 0
    gpu_memory_bytes: int = 0
    """Per GPU."""

    def __str__(self) -> str:
        cores = f"{self.num_cores} CPU cores" if self.num_cores > 1 else "one CPU core"
        if self.device == "cpu":
            return f"{cores} without a GPU"
        if self.device == "mps":
            return f"the GPU of this Mac and {cores}"
        memory = f"{self.gpu_memory_bytes / 2**30:.0f} GiB"
        return f"{self.num_gpus} {self.gpu_name} ({memory}) and {cores}"


def memory_bytes() -> int:
    """Physical memory."""
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def this_machine(device: str = "auto") -> Machine:
    """The machine as seen by a run with this run.device."""
    # Imported here: it loads torch.
    from zerofleet.infer.devices import count_devices, gpu_name_and_memory, pick_device

    picked = pick_device(device)
    if picked.type != "cuda":
        return Machine(picked.type, num_cores())
    gpu_name, gpu_bytes = gpu_name_and_memory(picked)
    return Machine(picked.type, num_cores(), gpu_name, count_devices("cuda"), gpu_bytes)


def fitting_preset(machine: Machine) -> str:
    """The preset that learns most within minutes to hours. Day-long presets must be named.

    `fast` leaves a large GPU three quarters idle; `production` plays few games in its first hour.
    """
    return "fast" if machine.device == "cpu" else "standard"


def name_and_preset(
    game: str,
    run: str | None,
    preset: str | None,
    overrides: Sequence[str | Override],
    say: Callable[[str], None] = print,
) -> tuple[str, str | None]:
    """The run's name and its preset: the one named, or the one that fits this machine, which is
    printed. The preset is None for an existing run, which has its settings."""
    if run is not None:
        check_name(run)
    if preset is not None:
        return run or default_name(game, preset), preset
    if run in run_names():
        return run, None
    preset, machine = preset_here(game, overrides)
    name = run or default_name(game, preset)
    if name in run_names():
        return name, None
    say(f"no preset given: using {preset}, which fits {machine}")
    return name, preset


def preset_here(game: str, overrides: Sequence[str | Override]) -> tuple[str, Machine]:
    """The preset that fits this machine, or the device that the overrides name."""
    preset_names(game)  # rejects an unknown game before torch is loaded
    given = [override_of(each) for each in overrides]
    devices = [str(each.value) for each in given if each.place == ("run", "device")]
    machine = this_machine(*devices[-1:])
    return fitting_preset(machine), machine
