"""Utilisation, power draw and memory of NVIDIA GPUs, as the driver reports them through NVML.

The figures are of the whole GPU, including what other processes do on it. They need the package
nvidia-ml-py, which the extra `gpu` installs; without it a run trains as well and records none.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch

from zerofleet.errors import Unsupported
from zerofleet.metrics import needed


@dataclass(frozen=True)
class GpuFigures:
    """What a GPU does now."""

    busy_share: float
    """Of the last fraction of a second: with some kernel running, however small."""
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
