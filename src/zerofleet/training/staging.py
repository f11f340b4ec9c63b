"""Brings batches to the device that trains, on CUDA while the step before is computed."""

from dataclasses import dataclass

import torch

from zerofleet.nets.cuda import blocking_event
from zerofleet.replay import Batch
from zerofleet.training.unpack import PackedBatch

NUM_SLOTS = 2
"""Batches in flight; so steps that whoever trains may be ahead of the GPU."""


@dataclass(frozen=True)
class Slot:
    pinned: PackedBatch
    on_device: PackedBatch
    has_arrived: torch.cuda.Event
    was_read: torch.cuda.Event

    @classmethod
    def like(cls, packed: PackedBatch, device: torch.device) -> "Slot":
        pinned = PackedBatch(*(torch.empty_like(each, pin_memory=True) for each in packed))
        on_device = PackedBatch(*(torch.empty_like(each, device=device) for each in packed))
        return cls(pinned, on_device, blocking_event(), blocking_event())


class Staging:
    """Memory for batches that are in flight; made once, for batches of one size."""

    def __init__(self, device: torch.device) -> None:
        self._device = device
        self._slots: list[Slot] = []
        self._num_brought = 0
        if device.type == "cuda":
            self._stream = torch.cuda.Stream(device)  # type: ignore[no-untyped-call]

    def bring(self, batch: Batch) -> PackedBatch:
        """The batch on the device, for the current stream, until the next but one is brought."""
        packed = PackedBatch.of(batch)
        if self._device.type != "cuda":
            return PackedBatch(*(tensor.to(self._device) for tensor in packed))
        slot = self._next_slot(packed)
        slot.was_read.synchronize()
        with torch.cuda.stream(self._stream):
            for given, pinned, arrived in zip(packed, slot.pinned, slot.on_device, strict=True):
                pinned.copy_(given)
                arrived.copy_(pinned, non_blocking=True)
            slot.has_arrived.record()
        torch.cuda.current_stream(self._device).wait_event(slot.has_arrived)
        return slot.on_device

    def was_read(self) -> None:
        """Says that the current stream will have read the newest batch by what it does so far."""
        if self._device.type == "cuda":
            self._slots[self._num_brought % NUM_SLOTS].was_read.record()

    def _next_slot(self, packed: PackedBatch) -> Slot:
        if not self._slots or self._slots[0].pinned.rows_BR.shape != packed.rows_BR.shape:
            # What is in flight reads the slots that go. Not the whole device: a capture of another
            # thread would break.
            torch.cuda.current_stream(self._device).synchronize()
            self._slots = [Slot.like(packed, self._device) for _ in range(NUM_SLOTS)]
        self._num_brought += 1
        return self._slots[self._num_brought % NUM_SLOTS]
