"""The bus: all communication between the roles of a run.

Workers send finished episodes, the trainer logs them and publishes weights and a pace, raters lease
blocks of rating games. Messages are bytes and plain values, so a role does not know whether the bus
is in memory or on a server. `MemoryBus` is for a run in one process.
"""

from zerofleet.bus.contract import (
    Backlog,
    Block,
    BlockResult,
    Bus,
    BusFull,
    BusRefused,
    BusUnreachable,
    Delivery,
    EpisodeId,
    FetchWeights,
    InferenceOffer,
    NotTheTrainer,
    Pace,
    PublishedWeights,
    Receipt,
    RoleEntry,
    Sender,
    ServerFigures,
    WeightsFacts,
)
from zerofleet.bus.memory import MemoryBus

__all__ = [
    "Backlog",
    "Block",
    "BlockResult",
    "Bus",
    "BusFull",
    "BusRefused",
    "BusUnreachable",
    "Delivery",
    "EpisodeId",
    "FetchWeights",
    "InferenceOffer",
    "MemoryBus",
    "NotTheTrainer",
    "Pace",
    "PublishedWeights",
    "Receipt",
    "RoleEntry",
    "Sender",
    "ServerFigures",
    "WeightsFacts",
]
