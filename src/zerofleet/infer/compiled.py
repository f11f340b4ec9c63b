"""What a compiled evaluation takes and gives."""

from collections.abc import Callable

from torch import Tensor

from zerofleet.nets.compiled import compiled

__all__ = ["Answer", "compiled"]

Answer = Callable[[Tensor], tuple[Tensor, Tensor]]
