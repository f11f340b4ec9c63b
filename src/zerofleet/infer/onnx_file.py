"""A graph and one version of its weights as a single ONNX file, for runtimes that take files."""

import onnx

from zerofleet.infer.evaluator import State, checked_state
from zerofleet.infer.onnx_evaluator import as_array
from zerofleet.weights import Graph


def onnx_with_weights(graph: Graph, state: State, version: int) -> bytes:
    """The same bytes for the same graph and weights. The weights are checked."""
    arrays = checked_state(state, graph.shapes, version)
    model = onnx.ModelProto()
    model.ParseFromString(graph.onnx)
    for weight in model.graph.initializer:
        if weight.data_location == onnx.TensorProto.EXTERNAL:
            weight.raw_data = as_array(arrays[weight.name], graph.inputs[weight.name]).tobytes()
            weight.ClearField("data_location")
            weight.ClearField("external_data")
    return bytes(model.SerializeToString(deterministic=True))
