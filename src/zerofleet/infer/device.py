"""Picks the device that a network runs on."""

from collections.abc import Callable

import torch

from zerofleet.errors import Unsupported

BY_PREFERENCE = ("cuda", "mps", "cpu")


def is_available(kind: str) -> bool:
    """Whether torch can use such a device on this machine."""
    if kind == "cuda":
        return torch.cuda.is_available()
    if kind == "mps":
        return torch.backends.mps.is_available()
    return kind == "cpu"


def pick_device(
    name: str = "auto", is_available: Callable[[str], bool] = is_available
) -> torch.device:
    """The device of that name (cpu, mps, cuda, cuda:1), or the best there is: CUDA, MPS, CPU.

    One that this machine does not have is an error.
    """
    there = [kind for kind in BY_PREFERENCE if is_available(kind)]
    if name == "auto":
        return torch.device(there[0])
    try:
        device = torch.device(name)
    except RuntimeError:
        device = None
    if device is None or device.type not in BY_PREFERENCE:
        raise Unsupported(f"unknown device {name}; known: auto, {', '.join(BY_PREFERENCE)}")
    if device.type not in there:
        raise Unsupported(f"device {name} is not available here; there is {', '.join(there)}")
    return device


def device_text(device: torch.device) -> str:
    """For people: cuda, NVIDIA H200, 139 GiB."""
    if device.type != "cuda":
        return device.type
    found = torch.cuda.get_device_properties(device)
    return f"cuda, {found.name}, {found.total_memory / 2**30:.0f} GiB"
