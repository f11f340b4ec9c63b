"""A network as an ONNX graph without its weights, for inference without torch.

    graph.onnx   takes any version of the weights of one network, as external initialisers
    graph.json   its manifest: hash, the network's spec, the tensors of its weights

The manifest is written last. A graph whose hash differs from its manifest is refused by name.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from zerofleet.storage import write_whole
from zerofleet.weights.store import BadWeights

GRAPH, GRAPH_MANIFEST = "graph.onnx", "graph.json"
DTYPES = ("float32", "float64", "float16", "int64", "int32", "int8", "uint8", "bool")
"""Of the weights that a graph may take."""


@dataclass(frozen=True)
class Graph:
    """A graph and the NetworkSpec that it was exported from, as a dict."""

    onnx: bytes
    spec: dict[str, Any]
    shapes: dict[str, list[int]]
    """Of all tensors of the network's state dict."""
    inputs: dict[str, str]
    """The dtype of each tensor that the graph takes; auxiliary heads are not among them."""

    def files(self) -> Iterator[tuple[str, bytes]]:
        """Names and contents, in the order of writing."""
        manifest = {
            "sha256": hashlib.sha256(self.onnx).hexdigest(),
            "num_bytes": len(self.onnx),
            "spec": self.spec,
            "shapes": self.shapes,
            "inputs": self.inputs,
        }
        yield GRAPH, self.onnx
        yield GRAPH_MANIFEST, (json.dumps(manifest, sort_keys=True) + "\n").encode()

    def encode(self) -> bytes:
        """The manifest, one line, then the graph: what a bus carries."""
        files = dict(self.files())
        return files[GRAPH_MANIFEST] + files[GRAPH]

    @classmethod
    def decode(cls, data: bytes, name: str) -> Self:
        """Reads it, verified. BadWeights names the fault."""
        manifest, _, onnx = data.partition(b"\n")
        return cls.verified(manifest, onnx, name)

    @classmethod
    def verified(cls, manifest: bytes, onnx: bytes, name: str) -> Self:
        try:
            found = json.loads(manifest)
            expected = str(found["sha256"])
            graph = cls(
                onnx,
                spec=dict(found["spec"]),
                shapes=dict(found["shapes"]),
                inputs=dict(found["inputs"]),
            )
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise BadWeights(f"{name} refused: {error!r}") from None
        if odd := [dtype for dtype in graph.inputs.values() if dtype not in DTYPES]:
            raise BadWeights(
                f"{name} refused: it takes weights as {odd[0]}; known: {', '.join(DTYPES)}"
            )
        if unknown := graph.inputs.keys() - graph.shapes.keys():
            raise BadWeights(f"{name} refused: it takes {min(unknown)}, which no weights have")
        got = hashlib.sha256(onnx).hexdigest()
        if got != expected:
            raise BadWeights(
                f"{name} refused: sha256 differs from its manifest "
                f"(got {got[:8]}…, expected {expected[:8]}…)"
            )
        return graph


def write_graph(folder: Path, graph: Graph) -> None:
    """Writes the graph, then its manifest; replaces older ones."""
    for name, data in graph.files():
        write_whole(folder / name, data)


def remove_graph(folder: Path) -> None:
    """Removes the manifest, then the graph."""
    for name in (GRAPH_MANIFEST, GRAPH):
        (folder / name).unlink(missing_ok=True)


def has_graph(folder: Path) -> bool:
    """Whether a folder has a graph, whole or damaged."""
    return (folder / GRAPH_MANIFEST).exists()


def read_graph(folder: Path) -> Graph:
    """The graph of a folder, verified. BadWeights names the fault."""
    path = folder / GRAPH
    try:
        manifest, onnx = (folder / GRAPH_MANIFEST).read_bytes(), path.read_bytes()
    except OSError as error:
        raise BadWeights(f"{path} refused: {error!r}") from None
    return Graph.verified(manifest, onnx, str(path))
