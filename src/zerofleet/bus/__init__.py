"""What roles exchange: finished episodes one way, published weights the other."""

from zerofleet.bus.memory import MemoryBus

__all__ = ["MemoryBus"]
