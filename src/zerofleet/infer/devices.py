"""The devices of this machine: which one to run on, and what NVML reports of NVIDIA GPUs.

Utilisation, power draw and memory are those of the whole GPU, other processes included. They need
nvidia-ml-py, which the extra `gpu` installs; a run without it trains and records none.
"""

import platform
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib.metadata import version
from types import ModuleType
from typing import Any

import torch

from zerofleet.cores import processor_name
from zerofleet.errors import Unsupported
from zerofleet.metrics import needed

BY_PREFERENCE = ("cuda", "mps", "cpu")


def count_devices(kind: str) -> int:
    """How many devices of a kind torch can use on this machine."""
    if kind == "cuda":
        return torch.cuda.device_count() if torch.cuda.is_available() else 0
    if kind == "mps":
        return int(torch.backends.mps.is_available())
    return int(kind == "cpu")


def pick_device(
    name: str = "auto", count_devices: Callable[[str], int] = count_devices
) -> torch.device:
    """The device of that name (cpu, mps, cuda, cuda:1); `auto` is the best one: CUDA, MPS, CPU.

    A device that this machine does not have is an error.
    """
    there = {kind: num for kind in BY_PREFERENCE if (num := count_devices(kind))}
    if name == "auto":
        return torch.device(next(iter(there)))
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in BY_PREFERENCE:
        raise Unsupported(f"unknown device {name}; known: auto, {', '.join(BY_PREFERENCE)}")
    if (device.index or 0) >= there.get(device.type, 0):
        known = ", ".join(each for kind, num in there.items() for each in names_of(kind, num))
        raise Unsupported(f"device {name} is not available here; there is {known}")
    return device


def names_of(kind: str, num_devices: int) -> list[str]:
    """Of so many devices of a kind: cpu; cuda:0, cuda:1."""
    return [f"{kind}:{index}" for index in range(num_devices)] if kind == "cuda" else [kind]


def device_text(device: torch.device) -> str:
    """For people: cuda, NVIDIA H200, 139 GiB."""
    if device.type != "cuda":
        return device.type
    name, memory_bytes = gpu_name_and_memory(device)
    return f"cuda, {name}, {memory_bytes / 2**30:.0f} GiB"


def gpu_name_and_memory(device: torch.device) -> tuple[str, int]:
    """Of a CUDA GPU; the memory in bytes."""
    properties = torch.cuda.get_device_properties(device)
    return properties.name, properties.total_memory


def platform_text(device: str = "auto") -> str:
    """What the last digits of a network's numbers depend on, beside the network: system, processor,
    vector instructions, libraries and device."""
    return ", ".join(
        [
            f"{platform.system()} {platform.machine()}",
            processor_name(),
            torch.backends.cpu.get_cpu_capability(),
            *(f"{library} {version(library)}" for library in ("torch", "onnxruntime")),
            device_text(pick_device(device)),
        ]
    )


@dataclass(frozen=True)
class GpuFigures:
    """What NVML reports of a GPU now."""

    busy_share: float
    """Of the last fraction of a second: the share with any kernel running."""
    watts: float
    used_bytes: int
    total_bytes: int

    def __str__(self) -> str:
        used, total = self.used_bytes / 2**30, self.total_bytes / 2**30
        return f"{self.busy_share:.0%} busy, {self.watts:.0f} W, {used:.0f} of {total:.0f} GiB used"


class GpuGauge:
    """Reads the figures of one GPU; from any thread."""

    def __init__(self, nvml: ModuleType, handle: Any) -> None:
        self._nvml = nvml
        self._handle = handle

    def read(self) -> GpuFigures | None:
        """None where the driver does not report them, as for a GPU split by MIG."""
        try:
            utilization = self._nvml.nvmlDeviceGetUtilizationRates(self._handle)
            milliwatts = self._nvml.nvmlDeviceGetPowerUsage(self._handle)
            memory = self._nvml.nvmlDeviceGetMemoryInfo(self._handle)
        except self._nvml.NVMLError:
            return None
        return GpuFigures(utilization.gpu / 100, milliwatts / 1000, memory.used, memory.total)


def open_gauges(devices: Iterable[str], say: Callable[[str], object]) -> list[GpuGauge]:
    """One for each NVIDIA GPU among torch devices. Without NVML none, and `say` hears why."""
    cuda = [device for device in devices if torch.device(device).type == "cuda"]
    # By their UUIDs: torch and the driver may number GPUs differently.
    uuids = dict.fromkeys(f"GPU-{torch.cuda.get_device_properties(each).uuid}" for each in cuda)
    try:
        return [open_gauge(uuid) for uuid in uuids]
    except Unsupported as fault:
        say(f"no GPU utilisation, power or memory in the metrics: {fault}")
        return []


def open_gauge(uuid: str) -> GpuGauge:
    """The gauge of a GPU such as GPU-ffc79498-…; Unsupported says what is missing."""
    nvml = needed("pynvml", "zerofleet[gpu]")
    try:
        nvml.nvmlInit()
        return GpuGauge(nvml, nvml.nvmlDeviceGetHandleByUUID(uuid))
    except nvml.NVMLError as error:
        raise Unsupported(f"NVML has no {uuid}: {error}") from None
