"""The bus: the only place where the roles of a run meet.

Workers send finished episodes, the trainer logs them and publishes weights and a pace, raters lease
blocks of rating games. Everything travels as bytes and plain values, so that a role does not know
whether the bus is memory or a server. `MemoryBus` is the one for a run in one process.
"""

from zerofleet.bus.contract import (
    Block,
    BlockResult,
    Bus,
    Delivery,
    Pace,
    PublishedWeights,
    RoleEntry,
)
from zerofleet.bus.memory import MemoryBus

__all__ = [
    "Block",
    "BlockResult",
    "Bus",
    "Delivery",
    "MemoryBus",
    "Pace",
    "PublishedWeights",
    "RoleEntry",
]
