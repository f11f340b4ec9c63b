"""Versioned weights: published, found, checked before use. Bytes only: no network is known here."""

from zerofleet.weights.store import BadWeights, Weights, WeightsStore, read_weights

__all__ = ["BadWeights", "Weights", "WeightsStore", "read_weights"]
