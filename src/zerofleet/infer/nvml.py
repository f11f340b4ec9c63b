"""How busy a CUDA GPU is, what it draws and how full its memory is, as its driver says.

The driver's library, NVML, is asked directly. Its figures are of the whole GPU, with what other
programs do on it.
"""

import ctypes
from collections.abc import Iterable
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from dataclasses import dataclass

import torch

LIBRARY = "libnvidia-ml.so.1"


@dataclass(frozen=True)
class GpuFigures:
    """What a GPU does now."""

    busy_share: float
    """Of the last fraction of a second: with some kernel running, however small."""
    watts: float
    used_bytes: int
    total_bytes: int


class Utilization(ctypes.Structure):
    """NVML's nvmlUtilization_t, in percent."""

    _fields_ = (("gpu", c_uint), ("memory", c_uint))


class Memory(ctypes.Structure):
    """NVML's nvmlMemory_t."""

    _fields_ = (("total", c_ulonglong), ("free", c_ulonglong), ("used", c_ulonglong))


class GpuGauge:
    """Reads the figures of one GPU; from any thread."""

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self._library = library
        self._handle = handle

    def read(self) -> GpuFigures | None:
        """None where the driver does not tell, as of a GPU that has been split."""
        utilization, milliwatts, memory = Utilization(), c_uint(), Memory()
        faults = (
            self._library.nvmlDeviceGetUtilizationRates(self._handle, byref(utilization)),
            self._library.nvmlDeviceGetPowerUsage(self._handle, byref(milliwatts)),
            self._library.nvmlDeviceGetMemoryInfo(self._handle, byref(memory)),
        )
        if any(faults):
            return None
        return GpuFigures(utilization.gpu / 100, milliwatts.value / 1000, memory.used, memory.total)


def open_gauges(devices: Iterable[str]) -> list[GpuGauge]:
    """Of those torch devices that are NVIDIA GPUs, one for each GPU."""
    cuda = [device for device in devices if torch.device(device).type == "cuda"]
    # By their own ids: torch and the driver may count GPUs differently.
    ids = dict.fromkeys(f"GPU-{torch.cuda.get_device_properties(each).uuid}" for each in cuda)
    return [gauge for gpu_id in ids if (gauge := gauge_of(gpu_id))]


def gauge_of(gpu_id: str, library_name: str = LIBRARY) -> GpuGauge | None:
    """The gauge of a GPU such as GPU-ffc79498-…; None where the driver does not know it."""
    try:
        library = ctypes.CDLL(library_name)
    except OSError:
        return None
    handle = c_void_p()
    if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByUUID(gpu_id.encode(), byref(handle)):
        return None
    return GpuGauge(library, handle)
