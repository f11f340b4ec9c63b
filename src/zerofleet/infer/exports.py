"""Graphs of networks: exported once for a spec, then kept in the cache folder.

An export takes seconds, in which every match and every game against a run would wait.
"""

import json
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

import torch

from zerofleet import nets
from zerofleet.nets.build import CUSTOM
from zerofleet.nets.onnx import take_weights_out, to_onnx
from zerofleet.storage import cache_folder, key_of, put_in_cache
from zerofleet.weights import BadWeights, Graph, read_graph


def exported(spec: nets.NetworkSpec) -> Graph:
    """The graph of all networks of a spec."""
    text = json.dumps(spec.to_dict(), sort_keys=True)
    # How a custom network is written may change with any file, so no other process has its graph.
    if custom := CUSTOM.get(spec.kind):
        return custom_graph(text, custom)  # type: ignore[arg-type]
    return exported_graph(text)


@lru_cache(maxsize=8)
def custom_graph(spec: str, network_class: type[nets.Network]) -> Graph:
    """Of a custom network as this process knows it: a class that replaces another differs."""
    return fresh_graph(nets.NetworkSpec.from_dict(json.loads(spec)))


@lru_cache(maxsize=8)
def exported_graph(spec: str) -> Graph:
    # What is exported changes with the spec, how networks are written, and torch, which exports it.
    key = key_of([spec, torch.__version__], Path(nets.__file__).parent)
    folder = cache_folder() / "onnx" / key
    try:
        return read_graph(folder)
    except BadWeights:  # not there yet, or damaged
        graph = fresh_graph(nets.NetworkSpec.from_dict(json.loads(spec)))
        with suppress(OSError):  # where nothing can be kept, it is made anew each time
            for name, data in graph.files():
                put_in_cache(folder / name, data)
        return graph


def fresh_graph(spec: nets.NetworkSpec) -> Graph:
    """Exported now."""
    with torch.random.fork_rng(devices=[]):  # what else is drawn does not depend on the cache
        network = nets.from_spec(spec)
        model = to_onnx(network)
    shapes = {name: list(value.shape) for name, value in network.state_dict().items()}
    inputs = take_weights_out(model, shapes)
    return Graph(model.SerializeToString(deterministic=True), spec.to_dict(), shapes, inputs)
