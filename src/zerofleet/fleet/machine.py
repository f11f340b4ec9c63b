"""The preset that fits a machine, for a run that is begun without one."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from zerofleet.config import Override, override_of, preset_names
from zerofleet.runs.folder import check_name, run_names
from zerofleet.runs.game import default_name


@dataclass(frozen=True)
class Machine:
    """What decides how large a run can be."""

    device: str
    """cuda, mps or cpu."""
    num_cores: int
    gpu_name: str = ""
    num_gpus: int = 0
    gpu_memory_bytes: int = 0
    """Of each."""

    def __str__(self) -> str:
        cores = f"{self.num_cores} CPU cores" if self.num_cores > 1 else "one CPU core"
        if self.device == "cpu":
            return f"{cores} without a GPU"
        if self.device == "mps":
            return f"the GPU of this Mac and {cores}"
        memory = f"{self.gpu_memory_bytes / 2**30:.0f} GiB"
        return f"{self.num_gpus} {self.gpu_name} ({memory}) and {cores}"


def this_machine(device: str = "auto") -> Machine:
    """The machine as seen by a run with that run.device."""
    # Only now: it loads torch.
    from zerofleet.infer.devices import count_devices, gpu_name_and_memory, pick_device

    num_cores = len(os.sched_getaffinity(0))
    picked = pick_device(device)
    if picked.type != "cuda":
        return Machine(picked.type, num_cores)
    gpu_name, memory_bytes = gpu_name_and_memory(picked)
    return Machine(picked.type, num_cores, gpu_name, count_devices("cuda"), memory_bytes)


def fitting_preset(machine: Machine) -> str:
    """The preset that learns most in minutes to hours there; those for a day are asked for by name.

    A fast run leaves a large GPU three quarters idle, and a production run has played few games
    before an hour is over.
    """
    return "fast" if machine.device == "cpu" else "standard"


def name_and_preset(
    game: str,
    run: str | None,
    preset: str | None,
    overrides: Sequence[str | Override],
    say: Callable[[str], None] = print,
) -> tuple[str, str | None]:
    """The run that is meant, and the preset that it begins with: the one named, or the one that
    fits this machine, which is said. None for a run that exists: it has its settings."""
    if run is not None:
        check_name(run)
    if preset is not None:
        return run or default_name(game, preset), preset
    if run in run_names():
        return run, None
    preset_names(game)  # an unknown game is refused before torch is loaded
    given = [override_of(each) for each in overrides]
    devices = [str(each.value) for each in given if each.place == ("run", "device")]
    machine = this_machine(*devices[-1:])
    preset = fitting_preset(machine)
    name = run or default_name(game, preset)
    if name in run_names():
        return name, None
    say(f"no preset was named: taking {preset}, which fits {machine}")
    return name, preset
