"""Evaluates with ONNX Runtime on a CPU. Needs neither torch nor the onnx package.

Shapes: B observations, N bytes of an observation.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnxruntime  # type: ignore[import-untyped]
from numpy.typing import NDArray
from onnxruntime.capi import onnxruntime_pybind11_state as runtime  # type: ignore[import-untyped]

from zerofleet.errors import BadBytes, Unsupported
from zerofleet.infer.evaluator import (
    Observations,
    Rows,
    State,
    checked_observations,
    checked_state,
)
from zerofleet.weights import Graph

REFUSALS = (
    runtime.Fail,
    runtime.InvalidArgument,
    runtime.InvalidGraph,
    runtime.InvalidProtobuf,
    runtime.NotImplemented,
    runtime.RuntimeException,
)
"""What ONNX Runtime raises for a graph that it cannot run."""

INPUT, OUTPUTS = "observations", ["policy_logits", "outcomes"]

ERRORS_ONLY = 3
"""A log level of ONNX Runtime."""


class OnnxEvaluator:
    """Evaluates with a graph and its weights, which `load` replaces.

    New weights need a new session: 10 to 30 ms for the built-in networks.
    """

    def __init__(self, graph: Graph, state: State, num_threads: int = 1, version: int = 0) -> None:
        if num_threads < 1:
            raise Unsupported(f"num_threads must be at least 1, got {num_threads}")
        self.num_threads = num_threads
        self._graph = graph
        self._num_bytes = int(graph.spec["observation_bytes"])
        self._serving = (self._session(checked_state(state, graph.shapes, version)), version)

    @property
    def version(self) -> int:
        return self._serving[1]

    def __call__(self, observations_BN: Observations, /) -> tuple[Rows, Rows]:
        session, _ = self._serving
        rows_BN = checked_observations(observations_BN, self._num_bytes)
        try:
            logits_BA, outcomes_BO = session.run(OUTPUTS, {INPUT: np.ascontiguousarray(rows_BN)})
        except REFUSALS as error:
            raise self._refusal(error) from None
        return logits_BA, outcomes_BO

    def load(self, state: State, version: int) -> None:
        arrays = checked_state(state, self._graph.shapes, version, self.version)
        self._serving = (self._session(arrays), version)

    def _session(self, arrays: Mapping[str, Any]) -> onnxruntime.InferenceSession:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = self.num_threads
        options.inter_op_num_threads = 1
        # Its warnings are about missed optimisations; errors are raised.
        options.log_severity_level = ERRORS_ONLY
        # Idle threads must not spin: search and training need the cores.
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")
        # A graph may come from elsewhere: it must not read files.
        options.add_session_config_entry(
            "session.model_external_initializers_file_folder_path", os.devnull
        )
        # The session copies the values.
        values = [as_array(arrays[name], dtype) for name, dtype in self._graph.inputs.items()]
        options.add_external_initializers(
            list(self._graph.inputs),
            [onnxruntime.OrtValue.ortvalue_from_numpy(value) for value in values],
        )
        try:
            session = onnxruntime.InferenceSession(
                self._graph.onnx, options, providers=["CPUExecutionProvider"]
            )
        except REFUSALS as error:
            raise self._refusal(error) from None
        takes = [each.name for each in session.get_inputs()]
        gives = [each.name for each in session.get_outputs()]
        if takes != [INPUT] or not set(OUTPUTS) <= set(gives):
            raise self._refusal(
                f"it has inputs {takes} and outputs {gives}, not {[INPUT]} and {OUTPUTS}"
            )
        return session

    def _refusal(self, reason: object) -> BadBytes:
        return BadBytes(f"the graph of {self._graph.spec['game']} is refused: {reason}")


def as_array(weight: Any, dtype: str) -> NDArray[Any]:
    """A numpy array as it is, or a torch tensor, perhaps on a GPU."""
    array = weight if isinstance(weight, np.ndarray) else weight.cpu()
    return np.asarray(array, dtype, order="C")
