"""The networks: bytes of an observation in, policy and outcomes out.

    network = zf.nets.build(zf.games.get("connect4"), "tiny")
    output = network(observations_BN)

Turning bytes into planes or tokens is the first layer, so that all there is to know about a game's
observations is in the network, and in its ONNX file. `register` adds a network of your own.
"""

from zerofleet.nets.build import build, from_spec, presets, register
from zerofleet.nets.network import (
    AuxiliaryBatch,
    Mean,
    Network,
    NetworkOptions,
    Output,
    auxiliary_losses,
    mean_over,
)
from zerofleet.nets.onnx import export_onnx
from zerofleet.weights.spec import NetworkSpec, refuse_mismatch

__all__ = [
    "AuxiliaryBatch",
    "Mean",
    "Network",
    "NetworkOptions",
    "NetworkSpec",
    "Output",
    "auxiliary_losses",
    "build",
    "export_onnx",
    "from_spec",
    "mean_over",
    "presets",
    "refuse_mismatch",
    "register",
]
