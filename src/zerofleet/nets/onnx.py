"""Networks as ONNX: bytes in, policy logits and probabilities of outcomes out.

Input `observations` uint8 [batch, N]; outputs `policy_logits` float32 [batch, A] and `outcomes`
float32 [batch, O], the latter after a softmax. The batch can be of any size. Weights keep the names
that they have in the network's state, so that others can be put in their place. The metadata have,
as JSON, the network's `spec`. The same network gives the same file on every machine.

Shapes: B batch, N bytes of an observation, A actions, O outcomes.
"""

import json
import logging
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

import onnx
import torch
from torch import Tensor, nn

from zerofleet.errors import Unsupported
from zerofleet.nets.build import from_spec
from zerofleet.nets.network import Network, Output
from zerofleet.storage import write_output

OPSET = 18
PREFIX = "network."
"""What the exporter puts before the names of weights: where they are in Answers."""


class Answers(nn.Module):
    """A network without auxiliary heads, its outcomes as probabilities."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network

    def forward(self, observations_BN: Tensor) -> tuple[Tensor, Tensor]:
        output: Output = self.network(observations_BN, with_auxiliary=False)
        return output.policy_logits_BA.float(), output.outcome_logits_BO.float().softmax(dim=1)


def export_onnx(network: Network, path: str | Path) -> None:
    """Writes the network as one ONNX file, its weights inside."""
    write_output(Path(path), to_onnx(network).SerializeToString())


def to_onnx(network: Network) -> onnx.ModelProto:
    """The network as ONNX. Not optimised, which whoever runs it does better. Takes seconds.

    A network that torch cannot export is refused by name.
    """
    if not network.exports_onnx:
        raise Unsupported(
            f"a {network.spec.kind} network is not exported to ONNX: its class says exports_onnx = "
            "False"
        )
    own = from_spec(network.spec)  # the exporter is not to touch a network that is in training
    own.load_state_dict(network.state_dict())
    example_BN = torch.zeros(2, network.spec.observation_bytes, dtype=torch.uint8)
    with warnings.catch_warnings(), quiet("torch.onnx"):
        warnings.simplefilter("ignore")  # the exporter uses what torch itself has deprecated
        try:
            program = torch.onnx.export(
                Answers(own).eval(),
                (example_BN,),
                input_names=["observations"],
                output_names=["policy_logits", "outcomes"],
                dynamic_shapes={"observations_BN": {0: torch.export.Dim("batch")}},
                opset_version=OPSET,
                dynamo=True,
                optimize=False,
                verbose=False,
            )
        except torch.onnx.OnnxExporterError as error:
            raise Unsupported(
                f"a {network.spec.kind} network cannot be exported to ONNX; write exports_onnx = "
                "False in its class, and torch evaluates it"
            ) from error
    assert program is not None
    model = program.model_proto
    rename_weights(model.graph)
    remove_traces(model)
    onnx.helper.set_model_props(model, {"spec": json.dumps(network.spec.to_dict())})
    return model


def rename_weights(graph: onnx.GraphProto) -> None:
    """Gives weights the names that they have in the state of the network itself."""
    for weight in graph.initializer:
        weight.name = weight.name.removeprefix(PREFIX)
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = name.removeprefix(PREFIX)


def remove_traces(model: onnx.ModelProto) -> None:
    """Removes what the exporter says of its work: builds, paths and source lines of this machine,
    nine tenths of a file without weights."""
    model.ClearField("producer_version")
    graph = model.graph
    graph.ClearField("metadata_props")
    graph.ClearField("value_info")
    for each in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        each.ClearField("metadata_props")


def take_weights_out(model: onnx.ModelProto, names: Collection[str]) -> dict[str, str]:
    """Leaves in place of these weights that they come from outside; gives each that is in the graph
    with its dtype."""
    taken = {}
    for weight in model.graph.initializer:
        if weight.name in names:
            taken[weight.name] = onnx.helper.tensor_dtype_to_np_dtype(weight.data_type).name
            weight.ClearField("raw_data")
            weight.data_location = onnx.TensorProto.EXTERNAL
            weight.external_data.add(key="location", value="weights")
    return taken


@contextmanager
def quiet(logger_name: str) -> Iterator[None]:
    """Lets a logger speak of errors only."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
