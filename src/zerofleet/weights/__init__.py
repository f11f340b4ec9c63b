"""Versioned weights: published, loaded, verified before use. Tensors are numpy arrays; no torch."""

from zerofleet.weights.best import BestWeights, all_best, best_folder, best_of, find_best
from zerofleet.weights.graph import Graph, has_graph, read_graph, remove_graph, write_graph
from zerofleet.weights.store import (
    BadWeights,
    OlderWeights,
    Tensors,
    Weights,
    WeightsStore,
    checked_tensors,
    encoded_tensors,
    read_weights,
    refusing_older_weights,
)

__all__ = [
    "BadWeights",
    "BestWeights",
    "Graph",
    "OlderWeights",
    "Tensors",
    "Weights",
    "WeightsStore",
    "all_best",
    "best_folder",
    "best_of",
    "checked_tensors",
    "encoded_tensors",
    "find_best",
    "has_graph",
    "read_graph",
    "read_weights",
    "refusing_older_weights",
    "remove_graph",
    "write_graph",
]
