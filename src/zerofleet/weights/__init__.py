"""Versioned weights: published, found, checked before use. Bytes only: no network is known here."""

from zerofleet.weights.store import BadWeights, Weights, WeightsStore

__all__ = ["BadWeights", "Weights", "WeightsStore"]
