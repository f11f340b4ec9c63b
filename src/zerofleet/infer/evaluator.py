"""What an evaluator is, and what all of them check.

Shapes: B observations, N bytes of an observation, A actions, O outcomes.
"""

from collections.abc import Mapping
from typing import Any, Literal, Protocol

import numpy as np
import safetensors.numpy
from numpy.typing import NDArray
from safetensors import SafetensorError

from zerofleet.errors import BadBytes, BadText, Inconsistent

Observations = NDArray[np.uint8]
Rows = NDArray[np.float32]
State = Mapping[str, Any] | bytes
"""Weights: by name, as torch tensors or numpy arrays; or all of them as safetensors."""
Shapes = dict[str, list[int]]
EvaluatorKind = Literal["auto", "torch", "onnx"]


class Evaluator(Protocol):
    """Judges positions. It can be given to zf.search.analyse and zf.selfplay.play."""

    @property
    def version(self) -> int:
        """Of the weights that answer."""

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        """Policy logits [B, A] and probabilities of outcomes [B, O], in the view of the observer.

        Takes uint8 [B, N]; what it gives is float32, contiguous and the caller's own.
        """

    def load(self, state: State, version: int) -> None:
        """Puts other weights in place: a batch is answered by the old or by the new ones.

        Weights that do not fit are refused by name, and the old ones go on serving.
        """


def checked_observations(observations_BN: Observations, num_bytes: int) -> Observations:
    """The same rows; an error says what is wrong with them."""
    rows: object = observations_BN
    fits = (
        isinstance(rows, np.ndarray)
        and rows.dtype == np.uint8
        and rows.ndim == 2
        and rows.shape[1] == num_bytes
    )
    if not fits:
        got = f"{rows.dtype} {list(rows.shape)}" if isinstance(rows, np.ndarray) else type(rows)
        raise BadText(f"observations must be a numpy array uint8 [batch, {num_bytes}], got {got}")
    return observations_BN


def checked_state(
    state: State, shapes: Shapes, version: int, serving: int | None = None
) -> Mapping[str, Any]:
    """Weights by name, which are those of `shapes` and have these shapes.

    The error names what does not fit, the version that is refused, and the one that goes on
    serving, if there is one.
    """

    def refused(why: str) -> str:
        still = "" if serving is None else f"; still serving {serving}"
        return f"weights {version} refused: {why}{still}"

    if isinstance(state, bytes):
        try:
            state = safetensors.numpy.load(state)
        except SafetensorError as error:
            raise BadBytes(refused(f"not safetensors ({error})")) from None
    for name in sorted(shapes.keys() | state.keys()):
        if name not in state:
            raise Inconsistent(refused(f"{name} is missing"))
        if name not in shapes:
            raise Inconsistent(refused(f"{name} is not of this network"))
        if (shape := list(state[name].shape)) != shapes[name]:
            raise Inconsistent(refused(f"{name} must be {shapes[name]}, got {shape}"))
    return state
