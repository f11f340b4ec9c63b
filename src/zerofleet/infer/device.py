"""Picks the device that a network runs on."""

from collections.abc import Callable

import torch

from zerofleet.errors import Unsupported

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
    """The device of that name (cpu, mps, cuda, cuda:1), or the best there is: CUDA, MPS, CPU.

    One that this machine does not have is an error.
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
    found = torch.cuda.get_device_properties(device)
    return found.name, found.total_memory
