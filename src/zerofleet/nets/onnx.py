"""Networks as ONNX graphs: observation bytes in, policy logits and outcome probabilities out.

Input `observations` uint8 [batch, N]; outputs `policy_logits` float32 [batch, A] and `outcomes`
float32 [batch, O], after a softmax. The batch size is dynamic. Weights keep the names of the
network's state dict, so one graph serves all versions. The metadata have the network's `spec` as
JSON. The same network gives the same file on every machine.

An export takes seconds, so `exported` keeps graphs in the cache folder.

Shapes: B batch, N bytes of an observation, A actions, O outcomes.
"""

import json
import logging
import warnings
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import onnx
import torch

from zerofleet.errors import Unsupported
from zerofleet.nets.build import CUSTOM, from_spec
from zerofleet.nets.network import InferenceNetwork, Network
from zerofleet.storage import cache_folder, key_of, put_in_cache, write_output
from zerofleet.weights import BadWeights, Graph, read_graph
from zerofleet.weights.spec import NetworkSpec

OPSET = 18
PREFIX = "network."
"""What the exporter puts before weight names: their place in InferenceNetwork."""


def export_onnx(network: Network, path: str | Path) -> None:
    """Writes the network as one ONNX file, weights included."""
    write_output(Path(path), to_onnx(network).SerializeToString())


def exported(spec: NetworkSpec) -> Graph:
    """The graph of all networks of a spec, from the cache folder if it is there."""
    text = json.dumps(spec.to_dict(), sort_keys=True)
    # The code of a custom network may change with any file, so its graph is not kept on disk.
    if custom := CUSTOM.get(spec.kind):
        return custom_graph(text, custom)  # type: ignore[arg-type]
    return exported_graph(text)


@lru_cache(maxsize=8)
def custom_graph(spec: str, network_class: type[Network]) -> Graph:
    """Keyed by class too: a class that replaces another has another graph."""
    return fresh_graph(NetworkSpec.from_dict(json.loads(spec)))


@lru_cache(maxsize=8)
def exported_graph(spec: str) -> Graph:
    # A graph depends on the spec, on the code of the networks, and on torch, which exports it.
    key = key_of([spec, torch.__version__], Path(__file__).parent)
    folder = cache_folder() / "onnx" / key
    try:
        return read_graph(folder)
    except BadWeights:  # not there yet, or damaged
        graph = fresh_graph(NetworkSpec.from_dict(json.loads(spec)))
        with suppress(OSError):  # without a writable cache every start exports again
            for name, data in graph.files():
                put_in_cache(folder / name, data)
        return graph


def fresh_graph(spec: NetworkSpec) -> Graph:
    """Exported now, without weights."""
    with torch.random.fork_rng(devices=[]):  # later random draws do not depend on the cache
        network = from_spec(spec)
        model = to_onnx(network)
    shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
    inputs = externalise_weights(model, shapes)
    return Graph(model.SerializeToString(deterministic=True), spec.to_dict(), shapes, inputs)


def to_onnx(network: Network) -> onnx.ModelProto:
    """The network as ONNX, unoptimised: the runtime optimises better. Takes seconds.

    Unsupported names a network that torch cannot export.
    """
    if not network.exports_onnx:
        raise Unsupported(
            f"a {network.spec.kind} network is not exported to ONNX: its class says exports_onnx = "
            "False"
        )
    copy = from_spec(network.spec)  # the exporter must not touch a network in training
    copy.load_state_dict(network.state_dict())
    example_BN = torch.zeros(2, network.spec.observation_bytes, dtype=torch.uint8)
    with warnings.catch_warnings(), quiet("torch.onnx"):
        warnings.simplefilter("ignore")  # the exporter uses deprecated parts of torch itself
        try:
            program = torch.onnx.export(
                InferenceNetwork(copy).eval(),
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
    strip_metadata(model)
    onnx.helper.set_model_props(model, {"spec": json.dumps(network.spec.to_dict())})
    return model


def rename_weights(graph: onnx.GraphProto) -> None:
    """Gives weights the names of the network's state dict."""
    for weight in graph.initializer:
        weight.name = weight.name.removeprefix(PREFIX)
    for node in graph.node:
        for index, name in enumerate(node.input):
            node.input[index] = name.removeprefix(PREFIX)


def strip_metadata(model: onnx.ModelProto) -> None:
    """Removes the exporter's debug information (versions, paths, source lines), nine tenths of a
    file without weights."""
    model.ClearField("producer_version")
    graph = model.graph
    graph.ClearField("metadata_props")
    graph.ClearField("value_info")
    for each in (*graph.node, *graph.initializer, *graph.input, *graph.output):
        each.ClearField("metadata_props")


def externalise_weights(model: onnx.ModelProto, names: Collection[str]) -> dict[str, str]:
    """Makes these weights external initialisers. Returns the dtypes of those in the graph."""
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
    """Silences a logger below errors."""
    logger = logging.getLogger(logger_name)
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
