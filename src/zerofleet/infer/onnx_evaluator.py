"""Evaluates with ONNX Runtime on a CPU. Does not load torch, unless it is given a network.

Shapes: B observations, N bytes of an observation.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import onnx
import onnxruntime  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from zerofleet.errors import BadBytes, Unsupported
from zerofleet.infer.evaluator import (
    Observations,
    Rows,
    Shapes,
    State,
    checked_observations,
    checked_state,
)

if TYPE_CHECKING:
    from zerofleet.nets import Network


class OnnxEvaluator:
    """Answers with the weights of a network, or of a file that `zf.nets.export_onnx` wrote.

    To export a network takes seconds, and is done once for all networks of a spec. New weights cost
    building a session: 12 to 55 ms for the tiny networks, 0.3 s for the largest (one core).
    """

    def __init__(
        self, source: "Network | str | Path", num_threads: int = 1, version: int = 0
    ) -> None:
        if num_threads < 1:
            raise Unsupported(f"num_threads must be at least 1, got {num_threads}")
        self.num_threads = num_threads
        self._model = model_of(source)
        self._shapes = state_shapes(self._model, str(source) if is_path(source) else "network")
        self._num_bytes = self._model.graph.input[0].type.tensor_type.shape.dim[1].dim_value
        if not isinstance(source, (str, Path)):
            self._put(source.state_dict())
        self._serving = (self._session(), version)

    @property
    def version(self) -> int:
        return self._serving[1]

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        session, _ = self._serving
        rows_BN = checked_observations(observations_BN, self._num_bytes)
        logits_BA, outcomes_BO = session.run(
            ["policy_logits", "outcomes"], {"observations": np.ascontiguousarray(rows_BN)}
        )
        return logits_BA, outcomes_BO

    def load(self, state: State, version: int) -> None:
        self._put(checked_state(state, self._shapes, version, self.version))
        self._serving = (self._session(), version)

    def _put(self, arrays: Mapping[str, Any]) -> None:
        for weight in self._model.graph.initializer:
            if weight.name in self._shapes:
                array = arrays[weight.name]
                if not isinstance(array, np.ndarray):
                    array = array.cpu()  # a tensor, perhaps of a GPU that trains
                weight.raw_data = np.asarray(array, dtype=np.float32).tobytes()

    def _session(self) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.num_threads
        options.inter_op_num_threads = 1
        # Threads that wait for work are not to take a core from search or training.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        return onnxruntime.InferenceSession(
            self._model.SerializeToString(), options, providers=["CPUExecutionProvider"]
        )


def is_path(source: object) -> bool:
    return isinstance(source, (str, Path))


def model_of(source: "Network | str | Path") -> onnx.ModelProto:
    if not isinstance(source, (str, Path)):
        from zerofleet.infer.exports import exported

        return exported(source.spec)
    try:
        return onnx.load_model(source)
    except DecodeError as error:
        raise BadBytes(f"{source}: not an ONNX file ({error})") from None


def state_shapes(model: onnx.ModelProto, name: str) -> Shapes:
    """The names and shapes of the weights that such a network has; the export wrote them down."""
    for entry in model.metadata_props:
        if entry.key == "state_shapes":
            shapes: Shapes = json.loads(entry.value)
            return shapes
    raise Unsupported(f"{name}: an ONNX file, but not one that zerofleet exported")
